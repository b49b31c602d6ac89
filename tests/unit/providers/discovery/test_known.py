"""The table of large providers: well formed, and in agreement with what the providers publish for mail programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postroom.providers.discovery.known import find_known, known_names, note_for
from postroom.settings.hosts import is_host

ISPDB = Path(__file__).resolve().parents[5] / "shared" / "specs" / "thunderbird-ispdb.json"

# In the table by the providers' own pages; the public list does not hold these names.
UNLISTED = {
    *("fastmail.com", "fastmail.fm", "mailbox.org", "migadu.com", "runbox.com", "kolabnow.com", "mailfence.com"),
    *("proton.me", "protonmail.com", "protonmail.ch", "pm.me", "freenet.de", "ionos.de", "ionos.com", "telenet.be"),
    *("interia.pl", "interia.eu", "privateemail.com", "google.com", "mail.icloud.com", "messagingengine.com"),
}

named = pytest.mark.parametrize("name", known_names())


@named
def test_every_entry_names_encrypted_servers(name: str) -> None:
    found = find_known(name, "alice@example.com")
    assert found is not None
    assert found.smtp is not None
    for server in (found.imap, found.smtp):
        assert is_host(server.host)
        assert server.security in ("tls", "starttls")
        assert (server.port, server.security) not in {(993, "starttls"), (465, "starttls"), (143, "tls")}


@named
def test_every_entry_agrees_with_the_public_list(name: str, published: dict[str, dict[str, Any]]) -> None:
    entry = published.get(name.lstrip("."))
    if entry is None:
        assert name.lstrip(".") in UNLISTED or name.startswith("."), f"is {name} spelled right?"
        return
    found = find_known(name, "alice@example.com")
    assert found is not None
    assert found.smtp is not None
    assert (found.imap.host, found.imap.port, found.imap.security) in servers(entry["in"], "imap")
    assert (found.smtp.host, found.smtp.port, found.smtp.security) in servers(entry["out"], "smtp")
    users = {server["user"] for server in (*entry["in"], *entry["out"]) if server["type"] in ("imap", "smtp")}
    assert {"alice@example.com": "%EMAILADDRESS%", "alice": "%EMAILLOCALPART%"}[found.usernames[0]] in users
    ways = {way for server in entry["in"] if server["type"] == "imap" for way in server["auth"]}
    assert (found.auth == "oauth2") == (ways == {"OAuth2"})


@pytest.fixture(scope="module")
def published() -> dict[str, dict[str, Any]]:
    if not ISPDB.is_file():
        pytest.skip("the public list of mail providers does not lie beside the project")
    providers = json.loads(ISPDB.read_text(encoding="utf-8"))["providers"]
    return {domain: provider for provider in providers for domain in provider["domains"]}


def servers(entries: list[dict[str, Any]], kind: str) -> set[tuple[str, int, str]]:
    security = {"SSL": "tls", "STARTTLS": "starttls", "plain": "none"}
    return {
        (one["host"].replace("%EMAILDOMAIN%", "inbox.lv"), one["port"], security[one["socket"]])
        for one in entries
        if one["type"] == kind
    }


@pytest.mark.parametrize(
    ("exchanger", "host"),
    [
        ("aspmx.l.google.com", "imap.gmail.com"),
        ("example-com.mail.protection.outlook.com", "outlook.office365.com"),
        ("in1-smtp.messagingengine.com", "imap.fastmail.com"),
        ("mx00.kundenserver.de", "imap.1und1.de"),
        ("smtpin.rzone.de", "imap.strato.de"),
    ],
)
def test_a_hosted_domain_is_recognised_by_its_mail_exchanger(exchanger: str, host: str) -> None:
    found = find_known(exchanger, "alice@example.com", "mx")
    assert found is not None
    assert (found.imap.host, found.source) == (host, "mx")


@pytest.mark.parametrize("name", ["example.com", "notgmail.com", "gmail.com.example", "l.google.com.evil", ""])
def test_a_name_that_only_looks_like_a_known_one_is_not(name: str) -> None:
    assert find_known(name, "alice@example.com") is None


def test_the_part_before_the_at_sign_is_the_user_name_where_the_provider_wants_it_so() -> None:
    for address, username in (("alice@web.de", "alice"), ("alice@gmx.de", "alice@gmx.de")):
        found = find_known(address.rpartition("@")[2], address)
        assert found is not None
        assert found.usernames == (username,)


def test_providers_without_plain_passwords_say_what_they_want_instead() -> None:
    google, microsoft = find_known("gmail.com", "a@gmail.com"), find_known("outlook.com", "a@outlook.com")
    assert google is not None
    assert microsoft is not None
    assert (google.auth, microsoft.auth) == ("app-password", "oauth2")
    assert "https://myaccount.google.com/apppasswords" in google.note


def test_a_note_is_found_by_the_server_of_an_account() -> None:
    assert "Google" in note_for("imap.gmail.com")
    assert note_for("imap.example.com") == note_for("posteo.de") == ""
