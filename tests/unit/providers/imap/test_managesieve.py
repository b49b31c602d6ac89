from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

import pytest
from tests.peers.accounts import imap_account
from tests.peers.daemon import free_ports
from tests.peers.dovecot import Dovecot
from tests.peers.tokens import make_token

from postroom.model.errors import AuthRequired, InvalidRequest, NotFound, ProviderUnavailable, Unsupported
from postroom.providers.imap.rules.managesieve import Scripts, SieveScripts

FILING = 'require ["fileinto"];\nif header :contains "subject" "invoice" { fileinto "Archive"; }\n'


def scripts(dovecot: Dovecot, **changes: Any) -> SieveScripts:
    values: dict[str, Any] = {
        "sieve_host": "localhost",
        "sieve_port": dovecot.sieve,
        "ca_file": dovecot.certificates.ca,
        "timeout": 5,
    }
    return SieveScripts(imap_account(dovecot, **(values | changes)))


async def test_a_script_is_checked_kept_run_and_taken_away(dovecot: Dovecot) -> None:
    box = scripts(dovecot)
    assert await box.list() == Scripts((), "")
    await box.check(FILING)
    await box.put("postroom", FILING)
    assert await box.list() == Scripts(("postroom",), "")
    await box.activate("postroom")
    assert await box.list() == Scripts(("postroom",), "postroom")
    assert (await box.get("postroom")).split() == FILING.split()
    await box.activate("")
    await box.delete("postroom")
    assert await box.list() == Scripts((), "")


async def test_a_script_that_the_server_cannot_run_is_refused_and_not_kept(dovecot: Dovecot) -> None:
    box = scripts(dovecot)
    for attempt in (box.check("this is no sieve"), box.put("bad", "fileinto;")):
        with pytest.raises(InvalidRequest, match="does not accept"):
            await attempt
    assert await box.list() == Scripts((), "")


async def test_what_is_not_there_is_not_found(dovecot: Dovecot) -> None:
    box = scripts(dovecot)
    for attempt in (box.get("none"), box.activate("none"), box.delete("none")):
        with pytest.raises(NotFound):
            await attempt


async def test_the_servers_certificate_is_checked(dovecot: Dovecot) -> None:
    with pytest.raises(ProviderUnavailable):
        await scripts(dovecot, ca_file=None).list()


@pytest.mark.parametrize("mechanism", ["xoauth2", "oauthbearer"])
async def test_a_token_logs_in_or_is_refused_by(dovecot: Dovecot, mechanism: str) -> None:
    user = dovecot.new_user()
    good = scripts(dovecot, auth=mechanism, token=make_token(user), password=None, user=user)
    assert await good.list() == Scripts((), "")
    stale = scripts(dovecot, auth=mechanism, token=make_token(user, lifetime=-60), password=None, user=user)
    with pytest.raises(AuthRequired):
        await stale.list()


async def test_a_wrong_password_is_refused(dovecot: Dovecot) -> None:
    with pytest.raises(AuthRequired):
        await scripts(dovecot, password="wrong").list()


async def test_a_server_that_is_not_there_is_unavailable(dovecot: Dovecot) -> None:
    (port,) = free_ports(1)
    with pytest.raises(ProviderUnavailable):
        await scripts(dovecot, sieve_port=port).list()


async def test_a_host_that_says_nothing_is_not_waited_for_longer_than_the_timeout(dovecot: Dovecot) -> None:
    """The system's own patience would be minutes. A listener whose queue is full lets nobody in."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        host, port = listener.getsockname()
        for _ in range(4):
            caller = waiting.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex((host, port))
        with pytest.raises(ProviderUnavailable):
            await scripts(dovecot, sieve_host=host, sieve_port=port, timeout=1).list()


async def test_without_a_sieve_host_there_are_no_scripts(dovecot: Dovecot) -> None:
    with pytest.raises(Unsupported):
        await scripts(dovecot, sieve_host="").list()
