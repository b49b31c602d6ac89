"""The page on adding a provider, tried: one with the required verbs alone serves every tool that needs no more."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tests.architecture.tree import ROOT
from tests.contract.mails import PDF, mail
from tests.peers.memory_mailbox import MemoryMailbox, provided

from postroom.model.capabilities import Capabilities
from postroom.providers import protocol
from postroom.service.accounts.folders import list_folders
from postroom.service.accounts.identities import list_identities
from postroom.service.organising import organise
from postroom.service.reading import read, search

PAGE = (ROOT / "docs" / "adding-a-provider.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PROTOCOLS = {
    name: value
    for name, value in vars(protocol).items()
    if inspect.isclass(value) and value.__module__ == protocol.__name__
}
OF_TRANSPORTS = {"Transport", "LoginCheck"}


def verbs(of: type) -> set[str]:
    return {name for name, value in vars(of).items() if inspect.isfunction(value) and not name.startswith("_")}


def test_the_page_names_the_required_verbs_and_no_other() -> None:
    listed = re.search(r"is all that is required: (.*?)\. ", PAGE, re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == verbs(protocol.Mailbox)


def test_the_page_names_every_optional_protocol_and_only_capabilities_there_are() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(PROTOCOLS) - OF_TRANSPORTS - {"Mailbox"}
    claimed = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[2])}
    assert claimed <= set(Capabilities.__annotations__)


@pytest.mark.parametrize("page", [PAGE, ARCHITECTURE], ids=["adding a provider", "architecture"])
def test_every_file_the_docs_name_is_there(page: str) -> None:
    named = [path for path in re.findall(r"`([\w/.-]+/[\w.-]+)`", page) if "<" not in path]
    places = [ROOT, ROOT / "src" / "postroom", ROOT / "src" / "postroom" / "providers" / "imap"]
    assert named
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def test_the_smallest_provider_has_the_required_verbs_alone(tmp_path: Path) -> None:
    smallest = verbs(MemoryMailbox) - {"asked"}
    assert smallest == verbs(protocol.Mailbox)
    optional = [of for name, of in PROTOCOLS.items() if name not in OF_TRANSPORTS | {"Mailbox"}]
    assert not any(smallest >= verbs(of) for of in optional)


async def test_mail_on_it_is_listed_searched_read_and_put_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        ref = contents.add(mail("one", subject="Plans", text="See the file.", files=[("plan.pdf", PDF)]))
        contents.add(mail("two", subject="Lunch", days_ago=2))
        assert [row.subject for row in (await search.list_emails(gateway)).results] == ["Plans", "Lunch"]
        (found,) = (await search.search_emails(gateway, "filename:plan is:unread")).results
        opened = await read.read_email(gateway, found.email_id)
        assert opened.body.strip() == "See the file."
        _, content = await read.attachment_bytes(gateway, found.email_id, opened.attachments[0].attachment_id)
        assert content == PDF
        marked = await organise.mark(gateway, [found.email_id], "read")
        moved = await organise.move(gateway, [found.email_id], "archive")
        assert (contents.mails[ref][0].unread, contents.mails[ref][0].folder) == (False, "Archive")
        for operation in (moved, marked):
            assert (await organise.undo(gateway, operation.operation_id)).failed == 0
        assert (contents.mails[ref][0].unread, contents.mails[ref][0].folder) == (True, "INBOX")
        assert "Archive" in [folder.name for folder in await list_folders(gateway)]
        assert [identity.email for identity in await list_identities(gateway)] == ["mine@demo.example"]
