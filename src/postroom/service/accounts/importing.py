"""Import a mail archive into an account that can store one."""

from __future__ import annotations

from pathlib import Path

from postroom.model.errors import InvalidRequest
from postroom.providers import registry
from postroom.providers.import_report import ImportReport, Progress
from postroom.service.gateway import Gateway

__all__ = ["ImportReport", "import_mail"]


async def import_mail(
    gateway: Gateway,
    path: Path,
    *,
    account: str | None = None,
    folder: str | None = None,
    on_progress: Progress | None = None,
) -> ImportReport:
    """Into the first account that takes an archive, unless one is named; into the sample mailbox only if it is named.
    Running it again adds nothing twice."""
    if gateway.settings.is_demo and account is None:
        raise InvalidRequest(
            "No account is set up, so the archive would go into the sample mailbox. Create one with postroom accounts "
            "add you@example.com --provider local --name archive, or pass --account alex to use the sample mailbox."
        )
    opened = await gateway.accounts.open(account or _first_that_takes_one(gateway))
    return await registry.import_archive(opened.settings, opened.mailbox, path, folder=folder, on_progress=on_progress)


def _first_that_takes_one(gateway: Gateway) -> str:
    for account in gateway.settings.accounts:
        if account.provider in registry.IMPORTERS:
            return account.name
    raise InvalidRequest(
        "An archive is imported into an account of provider local, and there is none. Create one with "
        "postroom accounts add you@example.com --provider local --name archive."
    )
