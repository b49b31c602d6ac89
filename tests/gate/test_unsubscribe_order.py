"""Leaving a list as it is put before the gate: the very request, or the mail with its address and words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.newsletters import HOST, email_id_of_news
from tests.gate.rigs import CONFIRMED, gate_rig

from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.native import NativeAction, Recipients
from postroom.model.unsubscribing import one_click_address
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.service.sending.letter import preview_of, question_text
from postroom.service.sending.order import Order
from postroom.service.sending.unsubscribe import order_unsubscribe

URL = f"https://{HOST}/leave?id=7"
POST = "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
BOTH = f"List-Unsubscribe: <mailto:leave@{HOST}?subject=out&body=bye>, <{URL}>\r\n{POST}"
ONE_CLICK = f"List-Unsubscribe: <{URL}>\r\n{POST}"
BY_MAIL = f"List-Unsubscribe: <mailto:leave@{HOST}?subject=out&body=bye>\r\n"
SIGNATURE = "DKIM-Signature: v=1; h=From:List-Unsubscribe:List-Unsubscribe-Post; bh=x\r\n"
VALID = "Authentication-Results: mx.demo.example; dkim=pass\r\n"


async def wanted(home: Path, headers: str, method: str = "auto", **given: Any) -> Order:
    """`given`: the name of the receiving server, and wishes."""
    async with gate_rig(home) as gate:
        settings = gate.gateway.settings
        mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=settings.home, neighbours=settings.accounts))
        await mailbox.connect()
        raw = f"From: news@{HOST}\r\nTo: alice@demo.example\r\nSubject: News\r\n{headers}\r\nhello\r\n"
        await mailbox.add_messages([NewMail(raw=raw.encode(), folder="INBOX")])
        await mailbox.close()
        opened = await gate.gateway.accounts.open("alice")
        if (trusted := given.pop("trusted", None)) is not None:
            object.__setattr__(opened.settings, "authserv_id", trusted)
        email_id = await email_id_of_news(gate)
        return await order_unsubscribe(gate.gateway, email_id, replace(CONFIRMED, **given), "alice", method)


@pytest.mark.parametrize("method", ["auto", "one_click"])
async def test_the_request_that_is_made_is_the_one_that_is_shown(tmp_path: Path, method: str) -> None:
    order = await wanted(tmp_path, BOTH, method)

    to = Recipients(to=(one_click_address(URL),))
    assert order.native == NativeAction(
        "unsubscribe", named=to, everyone=to, subject=f"Unsubscribe at {HOST}", text=URL
    )
    assert (order.tool, order.kind, order.original) == ("unsubscribe", "unsubscribe", ("News", f"news@{HOST}"))
    assert (order.draft.sender.email, order.draft.to) == ("alice@demo.example", to.to)
    assert order.draft.subject == f"Unsubscribe at {HOST}"
    shown = f"This request goes to {HOST}, without cookies or a login:\n\nPOST {URL}\nList-Unsubscribe=One-Click\n\n"
    assert order.draft.text.startswith(shown)
    assert "This is no email: it is a request to the mailing list's server, which its message asked for." in (
        preview_of(order).notes
    )


async def test_the_person_is_asked_about_a_request_and_told_what_named_it(tmp_path: Path) -> None:
    first, *lines = question_text(await wanted(tmp_path, ONE_CLICK), (), "s123").split("\n")

    assert first == "Make this request?"
    assert "\n".join(lines).startswith(
        f"Account: alice\nTo: one-click@{HOST}\nSubject: Unsubscribe at {HOST}\nNamed by:\n  News\n  news@{HOST}\n"
    )


@pytest.mark.parametrize(
    ("headers", "trusted", "is_signed"),
    [
        (f"{VALID}{SIGNATURE}", "mx.demo.example", True),
        (SIGNATURE, "mx.demo.example", False),
        (VALID, "mx.demo.example", False),
        (f"{VALID}{SIGNATURE}", "", False),
        (f"{VALID}{SIGNATURE}", "mx.elsewhere.example", False),
        (f"{VALID}{SIGNATURE}", None, False),
        (f"Authentication-Results: other; dkim=pass\r\n{SIGNATURE}", None, False),
    ],
)
async def test_the_person_is_told_whether_the_sender_signed_the_address(
    tmp_path: Path, headers: str, trusted: str | None, is_signed: bool
) -> None:
    order = await wanted(tmp_path, headers + BOTH, trusted=trusted)

    said = order.draft.text.rpartition("\n\n")[2]
    assert said == (
        "The sender signed these headers (DKIM), and the signature was found valid."
        if is_signed
        else "Whether the sender really wrote these headers is not known: no valid DKIM signature covers them."
    )


@pytest.mark.parametrize(("headers", "method"), [(BOTH, "email"), (BY_MAIL, "email"), (BY_MAIL, "auto")])
async def test_by_mail_the_lists_own_words_are_sent(tmp_path: Path, headers: str, method: str) -> None:
    order = await wanted(tmp_path, headers, method)

    assert order.native is None
    assert (order.tool, order.kind, order.original) == ("unsubscribe", "email_send", ("News", f"news@{HOST}"))
    assert [one.email for one in order.draft.recipients] == [f"leave@{HOST}"]
    assert (order.draft.subject, order.draft.text.strip()) == ("out", "bye")


@pytest.mark.parametrize(
    ("headers", "method", "said"),
    [
        (BY_MAIL, "one_click", "This list offers email, not one_click."),
        (ONE_CLICK, "email", "This list offers one_click, not email."),
        (BOTH, "phone", "This list offers one_click and email, not phone."),
    ],
)
async def test_a_way_that_is_not_offered_is_refused_with_those_that_are(
    tmp_path: Path, headers: str, method: str, said: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await wanted(tmp_path, headers, method)

    assert (refused.value.message, refused.value.details) == (said, {"field": "method"})


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ("", "This message names no way to unsubscribe in its headers. Links in its text are never followed."),
        (
            f"List-Unsubscribe: <{URL}>\r\n",
            "This list can only be left on a web page, which needs a person: the user must open it.",
        ),
    ],
)
async def test_without_a_way_nothing_is_guessed(tmp_path: Path, headers: str, said: str) -> None:
    with pytest.raises(NotFound) as refused:
        await wanted(tmp_path, headers)

    assert refused.value.message == said


async def test_a_key_of_two_lines_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="idempotency_key"):
        await wanted(tmp_path, BOTH, idempotency_key="a\nb")
