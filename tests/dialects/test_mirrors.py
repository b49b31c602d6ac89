"""A search that a mirror answered without having everything is not called complete, in the words of each dialect."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.peers.accounts import letter
from tests.peers.daemon import free_ports
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.unit.sync.cloud import Cloud, GraphSide
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.filling import fill_partly

from postroom.doors.mcp.serve import server_for
from postroom.model.errors import ProviderUnavailable
from postroom.settings import Settings, build
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.following import arriving, by_folder

pytestmark = pytest.mark.anyio

HERE, THERE = 2, 5
NOT_ALL = "Not all mail of account work was searched"
SEARCHES = [
    ("postroom", "search_emails", NOT_ALL, {"total_count": None, "complete": False}),
    ("drafts", "search_emails", f"Notice: {NOT_ALL}", {"total_count": None}),
    ("graph", "search_emails", "Es wurden nicht alle E-Mails durchsucht", {"totalCount": None}),
    ("vault", "search_email", f"Notice: {NOT_ALL}", {}),
    ("mailapi", "search_emails", NOT_ALL, {}),
    ("intentmail", "search_messages", NOT_ALL, {"total_count_is_minimum": True}),
]
of_each_dialect = pytest.mark.parametrize(("dialect", "tool", "said", "structured"), SEARCHES)
of_all_folders = pytest.mark.parametrize(
    ("dialect", "tool", "said", "structured"), [row for row in SEARCHES if row[0] != "drafts"]
)


@pytest.fixture
def mirrored(dovecot: Dovecot, tmp_path: Path) -> Mirrored:
    """The only letter about elephants that has \"trunk\" for a subject is not in the inbox."""
    made = Mirrored(dovecot, dovecot.new_user("mirrored"), Mirror(mirror_path(tmp_path, "work")), {})
    with made.client() as client:
        for number in range(THERE):
            client.append("INBOX", "", None, letter(f"letter{number}", text="An elephant."))
        client.append("Archive", "", None, letter("trunk", text="A mammoth."))
    return made


def settings_of(mirrored: Mirrored, home: Path, dialect: str, **more: Any) -> Settings:
    server = mirrored.dovecot
    account = {
        "name": "work", "provider": "imap", "address": mirrored.user, "host": server.host, "port": server.imap,
        "security": "none", "password": PASSWORD, **more,
    }  # fmt: skip
    return build({"server": {"dialect": dialect}, "accounts": [account]}, home=home)


async def searched(settings: Settings, tool: str, query: str) -> tuple[str, dict[str, Any]]:
    """All that a search says, and its structured result."""
    async with Client(server_for(settings)) as client:
        found = await client.call_tool(tool, {"query": query})
    assert not found.is_error
    return "\n".join(block.text for block in found.content if block.type == "text"), found.structured_content or {}


@of_all_folders
async def test_that_folders_are_left_out_is_said_where_nothing_was_found(
    mirrored: Mirrored, tmp_path: Path, dialect: str, tool: str, said: str, structured: dict[str, Any]
) -> None:
    mirrored.changes = {"mirror_leave_out": ("Archive",)}
    await mirrored.sync()
    settings = settings_of(mirrored, tmp_path, dialect, mirror="full", mirror_leave_out=["Archive"])
    text, found = await searched(settings, tool, "mammoth")
    assert "trunk" not in text
    assert said in text
    assert {key: found[key] for key in structured} == structured


@of_each_dialect
async def test_a_mirror_that_was_not_filled_says_so_while_its_server_is_away(
    mirrored: Mirrored,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dialect: str,
    tool: str,
    said: str,
    structured: dict[str, Any],
) -> None:
    monkeypatch.setattr(by_folder, "_FIRST_PAGE", HERE)
    monkeypatch.setattr(arriving, "_WAITING", 1)
    settings = settings_of(mirrored, tmp_path, dialect, mirror="full")
    await fill_partly(mirrored.mirror, settings.accounts[0], 1)  # type: ignore[arg-type]
    (nobody,) = free_ports(1)
    text, found = await searched(settings_of(mirrored, tmp_path, dialect, mirror="full", port=nobody), tool, "elephant")
    assert text.count("letter") >= HERE
    assert said in text
    assert {key: found[key] for key in structured} == structured


async def test_a_mirror_that_its_server_never_confirmed_says_so_while_that_is_away(tmp_path: Path) -> None:
    """In a field of its own, whatever else is known."""
    with ExitStack() as peers:
        side = GraphSide(peers)
        for number in range(60):  # more than the first page
            side.peer.deliver(side.user, letter(f"letter{number}", text="An elephant."))
        cloud = Cloud(side, Mirror(mirror_path(tmp_path, "mine")))
        cloud.before = lambda verb: side.peer.cut_next("*", "*", times=10_000) if cloud.rows() else None
        with pytest.raises(ProviderUnavailable):
            await cloud.sync()
        assert 0 < len(cloud.rows()) < 60
        token = side.settings.token.get_secret_value()
        account = side.settings.model_dump(include={"name", "provider", "address", "base_url", "mirror"})
        settings = build({"accounts": [{**account, "token": token}]}, home=tmp_path)
        text, found = await searched(settings, "search_emails", "in:inbox mammoth")
    assert "Not all mail of account mine was searched" in text
    assert (found["results"], found["has_more"], found["total_count"]) == ([], False, None)
    assert found["complete"] is False


@of_all_folders
async def test_where_everything_was_searched_nothing_of_the_kind_is_said(
    mirrored: Mirrored, tmp_path: Path, dialect: str, tool: str, said: str, structured: dict[str, Any]
) -> None:
    await mirrored.sync()
    text, found = await searched(settings_of(mirrored, tmp_path, dialect, mirror="full"), tool, "mammoth")
    assert "trunk" in text
    assert said not in text
    assert not {key: value for key, value in structured.items() if found.get(key) == value}


@of_each_dialect
async def test_a_page_of_recent_mail_that_goes_on_lacks_nothing(
    mirrored: Mirrored, tmp_path: Path, dialect: str, tool: str, said: str, structured: dict[str, Any]
) -> None:
    mirrored.changes = {"mirror_days": 30}
    with mirrored.client() as client:
        for number in range(60):
            raw = letter(f"recent{number}", text="An aurochs.")
            client.append("INBOX", "", None, raw.replace(b"Date: ", b"X-Date: "))
    await mirrored.sync()
    settings = settings_of(mirrored, tmp_path, dialect, mirror="full", mirror_days=30)
    text, _ = await searched(settings, tool, "aurochs")
    assert "recent" in text
    assert said not in text


@of_all_folders
async def test_one_that_goes_on_says_which_folders_it_lacks(
    mirrored: Mirrored, tmp_path: Path, dialect: str, tool: str, said: str, structured: dict[str, Any]
) -> None:
    mirrored.changes = {"mirror_days": 30, "mirror_leave_out": ("Drafts",)}
    with mirrored.client() as client:
        for number in range(60):
            raw = letter(f"recent{number}", text="An aurochs.")
            client.append("INBOX", "", None, raw.replace(b"Date: ", b"X-Date: "))
        client.append("Drafts", "", None, letter("unfinished", text="An aurochs."))
    await mirrored.sync()
    settings = settings_of(mirrored, tmp_path, dialect, mirror="full", mirror_days=30, mirror_leave_out=["Drafts"])
    text, found = await searched(settings, tool, "aurochs")
    assert "recent" in text
    assert said in text
    assert {key: found[key] for key in structured} == structured
