"""What is used of libraries beyond what they promise stands in three modules, as the installed versions have it."""

from __future__ import annotations

import ast
import imaplib
import inspect

import aiosmtplib.protocol
import pytest
import sievelib.managesieve
from imapclient import IMAPClient
from tests.architecture.tree import SOURCE, python_files, shown
from tests.peers.dovecot import PASSWORD, Dovecot

from postroom.providers.imap.rules import sievelib_internals
from postroom.providers.imap.session import imapclient_internals
from postroom.providers.imap.smtp import aiosmtplib_internals

CLASSES = {"IMAPClient": IMAPClient, "IMAP4": imaplib.IMAP4}
# The parameters that are given, by place.
SIGNATURES = {
    IMAPClient._raw_command_untagged: ["command", "args", "response_name"],
    IMAPClient._checkok: ["command", "typ", "data"],
    IMAPClient._normalise_folder: ["folder_name"],
    imaplib.IMAP4._command_complete: ["name", "tag"],
    imaplib.IMAP4._untagged_response: ["typ", "dat", "name"],
}


def private_names(source: str) -> list[str]:
    """Attributes of anything but `self` and `cls` whose names begin with one underscore."""
    return [
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


def test_only_these_modules_reach_into_a_library() -> None:
    found = {
        shown(path): names
        for path in python_files()
        if path.is_relative_to(SOURCE / "providers" / "imap")
        and not path.stem.endswith("_internals")
        and (names := private_names(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_what_is_used_is_what_is_checked() -> None:
    listed = imapclient_internals.METHODS | {
        "names": tuple(name for names in imapclient_internals.ATTRIBUTES.values() for name in names)
    }
    used = set(private_names(inspect.getsource(imapclient_internals))) - {"_MAXLINE"}
    assert used <= {name for names in listed.values() for name in names}
    used = set(private_names(inspect.getsource(aiosmtplib_internals)))
    assert used <= {*aiosmtplib_internals.METHODS, *aiosmtplib_internals.ATTRIBUTES}


@pytest.mark.parametrize("of", CLASSES)
def test_the_methods_of_imapclient_and_imaplib_are_there(of: str) -> None:
    assert [name for name in imapclient_internals.METHODS[of] if not callable(getattr(CLASSES[of], name, None))] == []


def test_they_take_what_they_are_given() -> None:
    for method, expected in SIGNATURES.items():
        assert list(inspect.signature(method).parameters)[1 : len(expected) + 1] == expected, method
    assert isinstance(imaplib._MAXLINE, int)  # type: ignore[attr-defined]


def test_a_connected_client_has_the_attributes(dovecot: Dovecot) -> None:
    client = IMAPClient(dovecot.host, dovecot.imap, ssl=False, timeout=20)
    client.login(dovecot.new_user(), PASSWORD)
    with client:
        missing = [name for name in imapclient_internals.ATTRIBUTES["IMAPClient"] if not hasattr(client, name)]
        missing += [name for name in imapclient_internals.ATTRIBUTES["IMAP4"] if not hasattr(client._imap, name)]
        assert missing == []
        assert isinstance(client._imap.untagged_responses, dict)
        client._imap.file.peek  # noqa: B018 - has_buffered_input needs a buffered reader


def test_the_sieve_client_has_the_methods_that_are_replaced() -> None:
    client = sievelib.managesieve.Client
    assert [name for name in sievelib_internals.METHODS if not callable(getattr(client, name, None))] == []
    replaced = set(vars(sievelib_internals.SieveClient)).intersection(vars(client)) - {"__init__", "__doc__"}
    assert {name for name in replaced if not name.startswith("__")} <= set(sievelib_internals.METHODS)


async def test_the_smtp_protocol_has_what_is_used_of_it() -> None:
    protocol = aiosmtplib.protocol.SMTPProtocol()
    assert [name for name in aiosmtplib_internals.METHODS if not callable(getattr(protocol, name, None))] == []
    assert [name for name in aiosmtplib_internals.ATTRIBUTES if not hasattr(protocol, name)] == []
    assert isinstance(protocol._buffer, bytearray)
