"""Trying the submission login of a real Postfix: in and out, and no mail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.peers.accounts import imap_account
from tests.peers.daemon import free_ports
from tests.peers.dovecot import Dovecot
from tests.peers.postfix import Postfix
from tests.peers.tokens import make_token

from postroom.model.errors import AuthRequired, PostroomError, ProviderUnavailable, Unsupported
from postroom.providers.context import ProviderContext
from postroom.providers.protocol import LoginCheck
from postroom.providers.registry import open_mailbox, open_transport
from postroom.settings import ImapAccount


def account(dovecot: Dovecot, postfix: Postfix, **changes: Any) -> ImapAccount:
    values = {"smtp_host": "localhost", "smtp_port": postfix.tls, "ca_file": dovecot.certificates.ca} | changes
    return imap_account(dovecot, **values)


async def check(account: ImapAccount) -> None:
    context = ProviderContext(Path(), read_only=True)
    transport = open_transport(account, context, open_mailbox(account, context))
    assert isinstance(transport, LoginCheck)
    await transport.check_login()


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_a_good_login_is_let_in_over(dovecot: Dovecot, postfix: Postfix, security: str) -> None:
    port = postfix.tls if security == "tls" else postfix.starttls
    await check(account(dovecot, postfix, smtp_security=security, smtp_port=port))
    assert not postfix.has_queued_mail()


async def test_a_token_is_let_in(dovecot: Dovecot, postfix: Postfix) -> None:
    user = dovecot.new_user()
    await check(account(dovecot, postfix, user=user, auth="xoauth2", token=make_token(user), password=None))


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"password": "wrong"}, AuthRequired, "refused the login"),
        ({"password": None}, AuthRequired, "postroom accounts login mine"),
        ({"auth": "xoauth2", "token": "stale", "password": None}, AuthRequired, "refused the login"),
        ({"ca_file": None}, ProviderUnavailable, "certificate"),
        ({"smtp_host": ""}, Unsupported, "smtp_host"),
    ],
    ids=["wrong password", "no password", "stale token", "unknown authority", "no server"],
)
async def test_a_refusal_says_what_is_wrong(
    dovecot: Dovecot, postfix: Postfix, changes: dict[str, Any], error: type[PostroomError], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        await check(account(dovecot, postfix, **changes))
    assert type(caught.value) is error


async def test_a_server_that_is_not_there_is_unavailable(dovecot: Dovecot, postfix: Postfix) -> None:
    with pytest.raises(ProviderUnavailable):
        await check(account(dovecot, postfix, smtp_port=free_ports(1)[0]))
