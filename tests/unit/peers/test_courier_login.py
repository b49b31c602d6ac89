"""What stands in for parts of Courier: the login, the monitor of its locks; and how it is ended and started again."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.peers.courier import Courier, running_courier
from tests.peers.dovecot import PASSWORD
from tests.peers.raw_imap import RawImap, raw_imap

LOGGED_IN = "OK LOGIN Ok."


def is_courier(client: RawImap) -> bool:
    return client.ask("NAMESPACE")[0].startswith('* NAMESPACE (("INBOX." "."))')


def test_the_greeting_tells_what_the_server_behind_will_offer(courier: Courier) -> None:
    with raw_imap(courier.imap) as client:
        offered = client.greeting.partition("[CAPABILITY ")[2].partition("]")[0]
        assert client.ask("CAPABILITY") == [f"* CAPABILITY {offered}", "OK CAPABILITY completed"]
        client.ask(f"LOGIN {courier.new_user()} {PASSWORD}")
        assert client.ask("CAPABILITY")[0] == f"* CAPABILITY {offered}"


@pytest.mark.parametrize("form", ["atoms", "quoted strings", "literals"])
def test_a_login_is_understood_in_every_form(courier: Courier, form: str) -> None:
    user = courier.new_user()
    pieces = {
        "atoms": [f"LOGIN {user} {PASSWORD}"],
        "quoted strings": [f'login "{user}" "{PASSWORD}"'],
        "literals": [f"LOGIN {{{len(user)}}}", f"{user} {{{len(PASSWORD)}}}", PASSWORD],
    }[form]
    with raw_imap(courier.imap) as client:
        assert client.ask(*pieces) == [LOGGED_IN]
        assert is_courier(client)


def test_authenticate_plain_logs_in(courier: Courier) -> None:
    answer = base64.b64encode(f"\0{courier.new_user()}\0{PASSWORD}".encode())
    with raw_imap(courier.imap) as client:
        assert client.ask("AUTHENTICATE PLAIN", answer) == [LOGGED_IN]
        assert is_courier(client)


@pytest.mark.parametrize("answer", [b"%%%", b"*", base64.b64encode(b"\0user\0wrong"), base64.b64encode(b"user")])
def test_a_wrong_answer_is_refused_and_may_be_followed_by_a_right_one(courier: Courier, answer: bytes) -> None:
    with raw_imap(courier.imap) as client:
        assert client.ask("AUTHENTICATE PLAIN", answer) == ["NO Login failed."]
        assert client.ask("LOGIN somebody wrong") == ["NO Login failed."]
        assert client.ask("LOGIN") == ["NO Login failed."]
        assert client.ask(f"LOGIN {courier.new_user()} {PASSWORD}") == [LOGGED_IN]


def test_nothing_but_a_login_leads_to_the_mails(courier: Courier) -> None:
    with raw_imap(courier.imap) as client:
        assert client.ask("NOOP") == ["OK NOOP completed"]
        assert client.ask("SELECT INBOX") == ["NO Error in IMAP command received by server."]
        assert client.ask("LOGOUT")[-1] == "OK LOGOUT completed"
        assert client.rest() == b""


def test_what_is_sent_right_after_the_login_reaches_the_server_behind(courier: Courier) -> None:
    with raw_imap(courier.imap) as client:
        client.send(f"a LOGIN {courier.new_user()} {PASSWORD}\r\nb NAMESPACE\r\nc LOGOUT\r\n".encode())
        answered = client.rest().splitlines()
        assert answered[0] == b"a OK LOGIN Ok."
        assert b"b OK NAMESPACE completed." in answered
        assert answered[-1] == b"c OK LOGOUT completed"


def test_sessions_that_write_at_once_wait_for_each_other(courier: Courier) -> None:
    user = courier.new_user()

    def append(number: int) -> dict[str, str]:
        """UID to subject of ten new mails."""
        subjects = [f"{number}-{n}" for n in range(10)]
        with raw_imap(courier.imap, user) as client:
            answers = [client.ask("APPEND INBOX {17}", f"Subject: {subject}\r\n\r\n.") for subject in subjects]
        return {answer[-1].split()[3].rstrip("]"): subject for answer, subject in zip(answers, subjects, strict=True)}

    with ThreadPoolExecutor(4) as threads:
        appended = {uid: subject for part in threads.map(append, range(4)) for uid, subject in part.items()}
    assert len(appended) == 40
    with raw_imap(courier.imap, user) as client:
        client.ask("SELECT INBOX")
        for uid, subject in appended.items():
            assert f'"{subject}"' in client.ask(f"UID FETCH {uid} ENVELOPE")[0]


def test_a_killed_server_takes_its_sessions_along_and_keeps_the_mails() -> None:
    mail = b"Subject: kept\r\n\r\nHello.\r\n"
    with running_courier() as courier:
        user = courier.new_user()
        with raw_imap(courier.imap, user) as client:
            client.ask(f"APPEND INBOX {{{len(mail)}}}", mail)
            courier.kill()
            assert client.rest() == b""
        with pytest.raises(ConnectionRefusedError), raw_imap(courier.imap):
            pass
        courier.start()
        with raw_imap(courier.imap, user) as client:
            assert "* 1 EXISTS" in client.ask("SELECT INBOX")
