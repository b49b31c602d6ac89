"""Taking an archive of mail into an account that can hold one."""

from __future__ import annotations

from pathlib import Path

from postroom.providers import registry
from postroom.providers.import_report import ImportReport, Progress
from postroom.service.house import House

__all__ = ["ImportReport", "import_mail"]


async def import_mail(
    house: House,
    path: Path,
    *,
    account: str | None = None,
    folder: str | None = None,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Running it again adds nothing twice."""
    opened = await house.accounts.open(account)
    return await registry.import_archive(opened.settings, opened.mailbox, path, folder=folder, on_progress=on_progress)
