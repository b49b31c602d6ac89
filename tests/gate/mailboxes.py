"""What lies in a mailbox of a gate rig."""

from __future__ import annotations

from collections import Counter

from tests.gate.rigs import GateRig

from postroom.service.reading import search


async def everything_in(gate: GateRig, account: str, mailbox: str) -> Counter[str]:
    """All subjects, however many pages they fill."""
    subjects: Counter[str] = Counter()
    offset = 0
    while True:
        page = await search.list_emails(gate.gateway, account=account, mailbox=mailbox, limit=100, offset=offset)
        subjects.update(row.subject for row in page.results)
        offset += 100
        if not page.has_more:
            return subjects
