from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from postroom.model.errors import InvalidRequest, PermissionDenied, PostroomError, ProviderUnavailable, Unsupported
from postroom.providers import registry
from postroom.providers.context import ProviderContext
from postroom.providers.layers.layered import unwrapped
from postroom.settings import LocalAccount


@dataclass(frozen=True)
class Account:
    name: str = "work"
    provider: str = "toy"


class ToyMailbox:
    def __init__(self, account: Account, context: ProviderContext) -> None:
        self.account, self.context, self.failures = account, context, 1

    async def folders(self) -> list[str]:
        if self.failures:
            self.failures -= 1
            raise ProviderUnavailable("down", retry_after=0)
        return ["INBOX"]

    async def move(self, refs: list[str], folder_ref: str) -> str:
        return "moved"


class ToyTransport:
    def __init__(self, account: Account, context: ProviderContext, mailbox: Any) -> None:
        self.mailbox = mailbox

    async def submit(self, request: object) -> str:
        return "sent"


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MAILBOXES", {**registry.MAILBOXES, "toy": f"{__name__}:ToyMailbox"})
    monkeypatch.setattr(registry, "TRANSPORTS", {**registry.TRANSPORTS, "toy": f"{__name__}:ToyTransport"})


def opened(tmp_path: Path, *, read_only: bool = False) -> tuple[Any, Any]:
    account: Any = Account()
    context = ProviderContext(tmp_path, (), read_only)
    mailbox = registry.open_mailbox(account, context)
    return mailbox, registry.open_transport(account, context, mailbox)


def test_mailboxes_and_transports_name_the_same_kinds() -> None:
    assert set(registry.MAILBOXES) == set(registry.TRANSPORTS)


def test_an_unknown_kind_is_refused_naming_what_exists(tmp_path: Path) -> None:
    account: Any = Account(provider="pigeon")
    with pytest.raises(InvalidRequest, match=r"'pigeon' is unknown.*local"):
        registry.open_mailbox(account, ProviderContext(tmp_path))


def test_a_provider_that_cannot_be_imported_is_refused_naming_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MAILBOXES", {"toy": "no_such_package.provider:Toy"})
    account: Any = Account()
    with pytest.raises(InvalidRequest, match="missing module no_such_package"):
        registry.open_mailbox(account, ProviderContext(tmp_path))


async def test_an_opened_mailbox_wears_retry_and_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "postroom.providers")
    mailbox, _ = opened(tmp_path)
    assert await mailbox.folders() == ["INBOX"]
    assert [(record.__dict__["verb"], record.__dict__["outcome"]) for record in caplog.records] == [("folders", "ok")]


async def test_read_only_reaches_mailbox_and_transport_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "postroom.providers")
    mailbox, transport = opened(tmp_path, read_only=True)
    with pytest.raises(PermissionDenied):
        await mailbox.move(["1"], "archive")
    with pytest.raises(PermissionDenied):
        await transport.submit(object())
    assert [record.__dict__["outcome"] for record in caplog.records] == ["PERMISSION_DENIED"] * 2


async def test_without_read_only_writes_go_through(tmp_path: Path) -> None:
    mailbox, transport = opened(tmp_path)
    assert await mailbox.move(["1"], "archive") == "moved"
    assert await transport.submit(object()) == "sent"


def test_a_transport_is_given_the_bare_mailbox(tmp_path: Path) -> None:
    mailbox, transport = opened(tmp_path)
    assert unwrapped(transport).mailbox is unwrapped(mailbox)


async def test_only_a_mailbox_of_our_own_takes_archives_and_samples(tmp_path: Path) -> None:
    mailbox, _ = opened(tmp_path)
    account: Any = Account()
    with pytest.raises(Unsupported, match="toy provider does not support import"):
        await registry.import_archive(account, mailbox, tmp_path)
    with pytest.raises(Unsupported, match="toy provider does not support sample"):
        await registry.fill_with_sample(account, mailbox)


async def test_the_embedded_mailbox_takes_the_sample_and_an_archive(tmp_path: Path) -> None:
    account = LocalAccount(name="sam", address="sam@demo.example", path=tmp_path / "sam.db")
    mailbox = registry.open_mailbox(account, ProviderContext(tmp_path, (account,)))
    await mailbox.connect()
    filled = await registry.fill_with_sample(account, mailbox)
    archive = tmp_path / "old.mbox"
    archive.write_bytes(b"From a@b.example Mon Jun 15 12:00:00 2026\nSubject: one\n\nHello.\n")
    report = await registry.import_archive(account, mailbox, archive, folder="Old")
    assert (report.added, report.folders) == (1, ("Old",))
    assert sum(folder.total or 0 for folder in await mailbox.folders()) == filled + 1
    await mailbox.close()


async def test_a_read_only_mailbox_takes_nothing(tmp_path: Path) -> None:
    account = LocalAccount(name="sam", address="sam@demo.example", path=tmp_path / "sam.db")
    writable = registry.open_mailbox(account, ProviderContext(tmp_path))
    await writable.connect()
    await writable.close()
    mailbox = registry.open_mailbox(account, ProviderContext(tmp_path, read_only=True))
    await mailbox.connect()
    with pytest.raises(PostroomError):
        await registry.fill_with_sample(account, mailbox)
    assert not any(folder.total for folder in await mailbox.folders())
    await mailbox.close()
