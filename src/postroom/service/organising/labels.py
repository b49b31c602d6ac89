"""Labels by their id, where a provider's labels have one."""

from __future__ import annotations

from postroom.service.accounts.folders import folders_of
from postroom.service.gateway import Gateway


async def name_of(gateway: Gateway, label: str, account: str | None = None) -> str:
    """The name of the label with that id (Gmail's ``Label_7``); otherwise what was given, which then is a name."""
    opened = await gateway.accounts.open(account)
    by_id = {folder.ref: folder.name for folder in await folders_of(opened)}
    if label not in by_id or not opened.capabilities.can_label:
        return label
    names = await opened.labels.labels()
    return by_id[label] if by_id[label] in names and label not in names else label
