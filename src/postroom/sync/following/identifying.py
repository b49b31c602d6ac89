"""Who messages are that came in bulk and are not packed yet, before that matters: in small steps, since others write to
the file as well."""

from __future__ import annotations

from postroom.sync.file.access import Access
from postroom.sync.tables import changing

_STEP = 2_000


async def identify(access: Access) -> None:
    while await access.write(changing.identify, _STEP):
        pass
