"""docs/query-language.md is true: each query that it shows finds the mail that it shows, or does not, or is refused."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path
from typing import get_args

import pytest

from postroom.model.errors import InvalidRequest
from postroom.model.query.fields import OPERATORS
from postroom.model.query.tree import Flag
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.service.gateway import Gateway
from postroom.service.reading.search import search_emails
from postroom.settings import LocalAccount, build
from postroom.wiring import open_gateway

PAGE = (Path(__file__).parents[2] / "docs" / "query-language.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^|]+)` \| `([^|]+)` \|$", PAGE, re.MULTILINE)
REFUSED = re.findall(r"^\| `([^|]+)` \| [^|]+ \|$", PAGE, re.MULTILINE)


def example() -> bytes:
    """The mail of the page. Its line `Attachment` names a file."""
    shown = re.search(r"^```\n(.*?)\n\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    mail = EmailMessage()
    headers = dict(line.split(": ", 1) for line in shown[1].splitlines())
    filename = headers.pop("Attachment")
    for name, value in headers.items():
        mail[name] = value
    mail.set_content(shown[2])
    mail.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename=filename)
    return mail.as_bytes()


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    account = LocalAccount(name="alex", provider="local", address="alex@demo.example", path=tmp_path / "alex.db")
    mailbox = LocalMailbox(account, ProviderContext(home=tmp_path, neighbours=(account,), read_only=False))
    await mailbox.connect()
    await mailbox.add_messages(
        [NewMail(raw=example(), folder="Projects", flags=("starred", "answered"), labels=("travel",))]
    )
    await mailbox.close()
    accounts = [{"name": "alex", "provider": "local", "address": "alex@demo.example", "path": "alex.db"}]
    async with open_gateway(build({"accounts": accounts}, home=tmp_path)) as gateway:
        yield gateway


async def test_every_query_of_the_page_finds_its_mail_or_does_not(gateway: Gateway) -> None:
    assert len(ROWS) > 25
    found = {query: (await search_emails(gateway, query)).total_count for row in ROWS for query in row[1:]}

    assert found == {query: count for _, finds, does_not in ROWS for query, count in ((finds, 1), (does_not, 0))}


async def test_every_query_that_the_page_calls_refused_is(gateway: Gateway) -> None:
    assert len(REFUSED) > 10
    for query in REFUSED:
        with pytest.raises(InvalidRequest):
            await search_emails(gateway, query)


def test_every_operator_has_a_row() -> None:
    written = " ".join(row[0] for row in ROWS)
    assert {f"{operator}:" for operator in OPERATORS} == set(re.findall(r"`(\w+:)", written))
    assert {f"is:{flag}" for flag in get_args(Flag)} == set(re.findall(r"is:\w+", written))
