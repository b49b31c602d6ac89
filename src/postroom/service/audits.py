"""Is the audit chain whole?"""

from __future__ import annotations

from postroom.service.house import House
from postroom.store import AuditReport


async def verify(house: House) -> AuditReport:
    return await house.stored(house.store.audit.verify)
