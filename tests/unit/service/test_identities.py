"""Identities and signatures where the settings have them, and what to do where a provider cannot make one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gate.rigs import gate_rig
from tests.unit.service.test_without_extras import provided

from postroom.model.address import Address
from postroom.model.draft import Identity
from postroom.model.errors import InvalidRequest, Unsupported
from postroom.service.accounts.identities import create_alias, list_identities
from postroom.service.own_identities import completed
from postroom.service.writing.signatures import _signed
from postroom.settings import ImapAccount, SettingsError, build

OWN = Identity(Address("me@example.com", "Me"), "<b>server</b>", is_default=True)


def account(**more: object) -> ImapAccount:
    return ImapAccount.model_validate({"name": "a", "address": "me@example.com", "host": "imap.example.com", **more})


def test_the_settings_complete_what_the_provider_lists() -> None:
    identities = [{"address": "sales@example.com", "name": "Sales", "signature": "S"}, {"address": "Me@example.com"}]
    listed = completed([OWN], account(signature="mine", identities=identities))

    assert [one.address.email for one in listed] == ["me@example.com", "sales@example.com"]
    assert (listed[0].signature_text, listed[0].signature_html, listed[0].is_default) == ("mine", "", True)
    assert (listed[1].address.name, listed[1].signature_text) == ("Sales", "S")
    assert completed([OWN], account()) == [OWN]


def test_identities_of_a_provider_that_lists_them_itself_are_a_mistake(tmp_path: Path) -> None:
    one = {"name": "a", "provider": "local", "address": "me@example.com", "identities": [{"address": "b@example.com"}]}
    with pytest.raises(SettingsError, match=r"accounts\[0\]\.identities: unknown key"):
        build({"accounts": [one]}, home=tmp_path)


async def test_where_no_alias_can_be_made_the_error_says_how_a_person_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, _):
        with pytest.raises(Unsupported) as refused:
            await create_alias(gateway, "new@example.com")
        assert refused.value.details["feature"] == "creating aliases"
        with pytest.raises(InvalidRequest):
            await create_alias(gateway, "new@example.com", "x\ny")


@pytest.mark.parametrize(
    ("email", "name"),
    [
        ("*@demo.example", ""),
        ("mallory%evil.example@demo.example", ""),
        ("new@demo.example", "Bob <bob@demo.example>"),
        ("new@demo.example", "bob\uff20demo.example"),
        ("new@demo.example", "Bob\u202eecilA"),
    ],
)
async def test_an_alias_can_pass_for_no_other_address(tmp_path: Path, email: str, name: str) -> None:
    """As an identity ``*@`` would be every address of its domain; the others deceive whoever reads the sender."""
    async with gate_rig(tmp_path) as gate:
        with pytest.raises(InvalidRequest):
            await create_alias(gate.gateway, email, name)
        assert len(await list_identities(gate.gateway)) == 1


@pytest.mark.parametrize(
    ("text", "html", "signed"),
    [
        ("Hi", "", ("Hi\n\n-- \nAnn", "")),
        ("Hi Ann, how are you", "", ("Hi Ann, how are you\n\n-- \nAnn", "")),
        ("Bye,\nAnn\n", "", ("Bye,\nAnn\n", "")),
        ("", "<p>Hi</p>", ("", "<p>Hi</p><br>\n<div><i>Ann</i></div>")),
        ("", "<html><body>Hi</BODY></html>", ("", "<html><body>Hi<br>\n<div><i>Ann</i></div></BODY></html>")),
        ("", "<p>Bye<br><b>Ann</b></p>", ("", "<p>Bye<br><b>Ann</b></p>")),
        (" ", "", (" ", "")),
    ],
)
def test_where_a_signature_goes(text: str, html: str, signed: tuple[str, str]) -> None:
    identity = Identity(Address("ann@example.com"), "<i>Ann</i>")

    assert _signed(identity, text, html, False) == signed


def test_a_signature_that_is_a_picture_is_in_the_html_version_alone() -> None:
    identity = Identity(Address("ann@example.com"), '<img src="cid:logo">')

    assert _signed(identity, "Hi", "<p>Hi</p>", False) == ("Hi", '<p>Hi</p><br>\n<div><img src="cid:logo"></div>')
