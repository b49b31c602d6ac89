"""The peer as a bare client sees it: what it offers, what it understands, and what it refuses as Gmail does."""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot
from tests.peers.gmail_imap import FOLDERS, GmailImap, gmail_imap
from tests.peers.gmail_verbs import APPEND_LIMIT


class Client:
    """Says bytes and shows the answer up to its tagged line."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._file = self._socket.makefile("rb")
        self._count = 0
        self._file.readline()

    def __call__(self, *pieces: bytes) -> str:
        """Each further piece is sent when the server has asked for it."""
        self._count += 1
        tag = b"a%d" % self._count
        answer = b""
        self._socket.sendall(tag + b" " + pieces[0] + b"\r\n")
        rest = list(pieces[1:])
        while not answer.rpartition(b"\r\n")[2].startswith(tag + b" "):
            line = self._file.readline()
            if not line:
                raise ConnectionError(answer)
            if line.startswith(b"+") and rest:
                self._socket.sendall(rest.pop(0) + b"\r\n")
                continue
            answer = (answer + b"\r\n" if answer else b"") + line.removesuffix(b"\r\n")
        return answer.decode()

    def begin(self, line: bytes) -> None:
        self._socket.sendall(line + b"\r\n")

    def line(self) -> str:
        return self._file.readline().decode().rstrip()

    def append(self, raw: bytes, folder: bytes = b"INBOX") -> str:
        return self(b"APPEND %s {%d}" % (folder, len(raw)), raw)

    def found(self, keys: bytes) -> list[int]:
        answer = self(b"UID SEARCH " + keys)
        assert " OK " in answer, answer
        return [int(uid) for uid in re.findall(r"\d+", answer.partition("* SEARCH")[2].partition("\r\n")[0])]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot(settings=FOLDERS) as server:
        yield server


@pytest.fixture(scope="module")
def peer(dovecot: Dovecot) -> Iterator[GmailImap]:
    with gmail_imap(dovecot.imap) as peer:
        yield peer


@pytest.fixture
def client(dovecot: Dovecot, peer: GmailImap) -> Iterator[Client]:
    peer.forget()
    with closing(Client(peer.port)) as client:
        assert " OK " in client(f"LOGIN {dovecot.new_user()} {PASSWORD}".encode())
        yield client


@pytest.fixture
def inbox(client: Client) -> Client:
    """Three mails in the open inbox."""
    for key, text in (("one", "Bring lemonade."), ("two", "The invoice is overdue."), ("three", "Grüße aus Köln.")):
        client.append(letter(key, text=text))
    assert " OK " in client(b"SELECT INBOX")
    return client


def test_it_offers_what_gmail_offers_and_more_after_login(peer: GmailImap, client: Client) -> None:
    with closing(Client(peer.port)) as stranger:
        assert "AUTH=XOAUTH2" in stranger(b"CAPABILITY")
        assert " NO [AUTHENTICATIONFAILED]" in stranger(b"LOGIN somebody@example.test wrong")
    offered = client(b"CAPABILITY").split("\r\n")[0].split()
    assert {"X-GM-EXT-1", "UTF8=ACCEPT", "LITERAL-", "ESEARCH", "MOVE"} <= set(offered)
    assert not {"SORT", "LITERAL+", "THREAD=REFERENCES"} & set(offered)


def test_a_login_may_come_at_once_or_when_asked_for(dovecot: Dovecot, peer: GmailImap) -> None:
    for pieces in ((b"AUTHENTICATE PLAIN %s",), (b"AUTHENTICATE PLAIN", b"%s")):
        proof = b64encode(f"\0{dovecot.new_user()}\0{PASSWORD}".encode())
        with closing(Client(peer.port)) as client:
            assert "X-GM-EXT-1" in client(*(piece.replace(b"%s", proof) for piece in pieces))
            assert " OK " in client(b"SELECT INBOX")


@pytest.mark.parametrize("command", [b"SELECT", b"APPEND", b"UID SEARCH CHARSET", b"UID COPY", b"UID STORE 1", b""])
def test_a_command_without_its_arguments_is_bad(inbox: Client, command: bytes) -> None:
    assert re.search(r"a\d+ BAD ", inbox(command))
    assert " OK " in inbox(b"NOOP")


@pytest.mark.parametrize(
    "command", [b"UID SORT (DATE) UTF-8 ALL", b"THREAD REFERENCES UTF-8 ALL", b"COMPRESS DEFLATE", b"GETQUOTA x"]
)
def test_what_it_does_not_offer_is_an_unknown_command(inbox: Client, command: bytes) -> None:
    assert " BAD Unknown command" in inbox(command)


def test_it_shows_gmails_folders(client: Client) -> None:
    lines = client(b'LIST "" "*"').split("\r\n")
    assert '* LIST (\\HasChildren \\Noselect) "/" "[Gmail]"' in lines
    assert '* LIST (\\HasNoChildren \\Sent) "/" "[Gmail]/Sent Mail"' in lines
    assert '* LIST (\\HasNoChildren \\All) "/" "[Gmail]/All Mail"' in lines
    assert not any(line.endswith(('"Sent"', '"Trash"')) for line in lines)


@pytest.mark.parametrize(
    ("keys", "uids"),
    [
        (b'X-GM-RAW "lemonade"', [1]),
        (b"X-GM-RAW lemonade", [1]),
        (b'X-GM-RAW "lemon"', []),
        (b'NOT X-GM-RAW "lemonade"', [2, 3]),
        (b'OR X-GM-RAW "lemonade" X-GM-RAW "overdue"', [1, 2]),
        (b'(X-GM-RAW "lemonade OR overdue") NOT (SEEN X-GM-RAW "nothing")', [1, 2]),
        (b'UNSEEN OR (SUBJECT one) (NOT X-GM-RAW "-\\"is overdue\\"")', [1, 2]),
        (b'SUBJECT "thre"', []),
        (b'SUBJECT "three"', [3]),
        (b'FROM "friends.example" BODY "invoice"', [2]),
        (b"TEXT overdue SENTSINCE 1-Jan-2020", [2]),
        (b'HEADER MESSAGE-ID "<two@seed.example>"', [2]),
        (b"1:2 UID 2:*", [2]),
    ],
)
def test_gmails_questions_stand_among_all_others(inbox: Client, keys: bytes, uids: list[int]) -> None:
    assert inbox.found(keys) == uids


def test_an_extended_search_answers_under_the_clients_own_tag(inbox: Client) -> None:
    answer = inbox(b'UID SEARCH RETURN (ALL COUNT) X-GM-RAW "lemonade OR overdue"')
    assert re.search(r'\* ESEARCH \(TAG "a\d+"\) UID (COUNT 2 ALL 1:2|ALL 1:2 COUNT 2)\r\n', answer)


@pytest.mark.parametrize("keys", [b'X-GM-RAW "\\"never closed"', b'X-GM-RAW "(a"', b'X-GM-RAW "%s"' % (b"x" * 2000)])
def test_a_query_that_means_nothing_is_refused(inbox: Client, keys: bytes) -> None:
    assert re.search(r"a\d+ NO ", inbox(b"UID SEARCH " + keys))


@pytest.mark.parametrize(
    "keys",
    [
        b"X-GM-RAW",
        b"",
        b"X-GM-RAW (a)",
        b"COLOUR red",
        b"OR SEEN",
        b'SENTSINCE " 1-Oct-2016"',
        b"SEEN  UNSEEN",
        b"(SEEN UNSEEN",
        b'X-GM-RAW "open',
        b'X-GM-RAW "bad \\escape"',
        'SUBJECT "Köln"'.encode(),
        'CHARSET UTF-8 X-GM-RAW "Köln"'.encode(),
    ],
)
def test_what_gmail_cannot_parse_is_bad(inbox: Client, keys: bytes) -> None:
    assert re.search(r"a\d+ BAD ", inbox(b"UID SEARCH " + keys))
    assert inbox.found(b"ALL") == [1, 2, 3]


def test_words_beyond_ascii_come_as_literals_with_their_charset(inbox: Client, peer: GmailImap) -> None:
    word = "Köln".encode()
    assert "* SEARCH 3" in inbox(b"UID SEARCH CHARSET UTF-8 X-GM-RAW {5}", word)
    assert " BAD " in inbox(b"UID SEARCH X-GM-RAW {5}", word)
    assert peer.queries == ["Köln"]


def test_once_utf8_is_enabled_words_stand_as_they_are_and_a_charset_is_refused(client: Client) -> None:
    client.append(letter("one", text="Grüße aus Köln."))
    assert "* ENABLED UTF8=ACCEPT" in client(b"ENABLE UTF8=ACCEPT")
    client(b"SELECT INBOX")
    assert client.found('X-GM-RAW "köln"'.encode()) == [1]
    assert client.found('HEADER SUBJECT "köln"'.encode()) == []
    assert " BAD " in client(b"UID SEARCH CHARSET UTF-8 X-GM-RAW koln")
    assert " BAD " in client(b"ENABLE UTF8=ACCEPT"), "only before a folder is open"


def test_folder_names_are_utf7_until_utf8_is_enabled(client: Client) -> None:
    assert " BAD " in client('CREATE "Büro"'.encode())
    assert " OK " in client(b'CREATE "B&APw-ro"')
    assert '"B&APw-ro"' in client(b'LIST "" "B*"')
    client(b"ENABLE UTF8=ACCEPT")
    assert '"/" "Büro"' in client(b'LIST "" "B*"')
    assert " OK " in client(b'CREATE "R&D"')
    assert '* STATUS "R&D" (MESSAGES 0)' in client(b'STATUS "R&D" (MESSAGES)')
    assert " OK " in client('SELECT "Büro"'.encode())
    assert '"Büro"' in client(b'LIST "" "*" RETURN (STATUS (MESSAGES))')


def test_mails_in_utf8_are_announced_as_such(client: Client) -> None:
    raw = "Subject: Grüße\r\n\r\nx".encode()
    command = b"APPEND INBOX (\\Seen) UTF8 (~{%d}" % len(raw)
    assert " BAD " in client(command, raw + b")")
    client(b"ENABLE UTF8=ACCEPT")
    assert "APPENDUID" in client(command, raw + b")")
    assert " BAD " in client(b'APPEND INBOX "not a literal"')


def test_literals_that_do_not_wait_may_be_short_only(client: Client) -> None:
    for size, verdict in ((4096, " OK "), (4097, " BAD ")):
        raw = letter("long") + b"x" * size
        assert verdict in client(b"APPEND INBOX {%d+}\r\n" % size + raw[:size])
    assert "* STATUS" in client(b"STATUS INBOX (MESSAGES)")


def test_a_mail_beyond_the_limit_is_refused_before_it_is_sent(client: Client) -> None:
    assert " NO [TOOBIG]" in client(b"APPEND INBOX {%d}" % (APPEND_LIMIT + 1))


def test_labels_are_gmails_own_and_no_flags(inbox: Client) -> None:
    answer = inbox(b'UID STORE 1 +X-GM-LABELS ("Muy Importante" \\Important &APw-ber)')
    assert 'X-GM-LABELS ("Muy Importante" "\\\\Important" "&APw-ber")' in answer
    assert 'LIST (\\HasNoChildren) "/" "Muy Importante"' in inbox(b'LIST "" "Muy*"')
    assert "X-GM-LABELS ()" in inbox(b"UID FETCH 2 (X-GM-LABELS)")
    assert "gm-" not in inbox(b"UID FETCH 1 (FLAGS)") + inbox(b"SELECT INBOX")
    assert inbox.found(b'X-GM-LABELS "Muy Importante"') == [1]
    assert inbox.found(b'X-GM-RAW "label:\\"Muy Importante\\""') == [1]
    assert " OK " in inbox(b'UID STORE 1 -X-GM-LABELS.SILENT ("Muy Importante")')
    assert inbox.found(b'X-GM-LABELS "Muy Importante"') == []


def test_a_star_is_a_label_too(inbox: Client) -> None:
    inbox(b"UID STORE 2 +FLAGS (\\Flagged)")
    assert 'X-GM-LABELS ("\\\\Starred")' in inbox(b"UID FETCH 2 (X-GM-LABELS)")
    assert inbox.found(b'X-GM-LABELS "\\\\Starred"') == [2]


@pytest.mark.parametrize("label", [b"Inbox", b'"sent"', b'""'])
def test_names_that_gmail_keeps_for_itself_are_no_labels(inbox: Client, label: bytes) -> None:
    assert " BAD Invalid Arguments: Label name is not allowed" in inbox(b"UID STORE 1 +X-GM-LABELS (%s)" % label)


def test_a_mail_has_one_id_in_every_folder(inbox: Client) -> None:
    (first,) = re.findall(r"X-GM-MSGID (\d+)", inbox(b"UID FETCH 1 (X-GM-MSGID)"))
    (second,) = re.findall(r"X-GM-MSGID (\d+)", inbox(b"FETCH 2 X-GM-MSGID"))
    inbox(b"UID COPY 1 Archive")
    inbox(b"SELECT Archive")
    assert re.findall(r"X-GM-MSGID (\d+)", inbox(b"UID FETCH 1 (X-GM-MSGID X-GM-THRID)")) == [first]
    assert first != second
    assert inbox.found(b"X-GM-MSGID " + first.encode()) == [1]


def test_news_reach_a_client_that_idles(dovecot: Dovecot, peer: GmailImap) -> None:
    user = dovecot.new_user()
    with closing(Client(peer.port)) as listener, closing(Client(peer.port)) as writer:
        for client in (listener, writer):
            client(f"LOGIN {user} {PASSWORD}".encode())
        listener(b"SELECT INBOX")
        listener.begin(b"i IDLE")
        assert listener.line().startswith("+")
        writer.append(letter("news"))
        assert listener.line() == "* 1 EXISTS"
        listener.begin(b"DONE")
        while not (line := listener.line()).startswith("i "):
            assert line.startswith("* ")
        assert line.startswith("i OK")


def test_other_peoples_changes_are_told_before_a_search_is_answered(dovecot: Dovecot, peer: GmailImap) -> None:
    user = dovecot.new_user()
    with closing(Client(peer.port)) as reader, closing(Client(peer.port)) as writer:
        for client in (reader, writer):
            client(f"LOGIN {user} {PASSWORD}".encode())
        reader(b"SELECT INBOX")
        writer.append(letter("news", text="Bring lemonade."))
        answer = reader(b"UID SEARCH X-GM-RAW lemonade")
        assert "* 1 EXISTS" in answer
        assert "* SEARCH 1" in answer
