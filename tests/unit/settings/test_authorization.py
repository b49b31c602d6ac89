from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.settings import SettingsError, build, load
from postroom.settings.environment import merge_environment

ACCOUNT = {"name": "work", "provider": "local", "address": "a@demo.example"}
GOOD = {"issuer": "https://login.example.com", "resource": "https://mail.example.com/mcp", "grants": [{}]}


def built(home: Path, **changed: Any) -> Any:
    written = {key: value for key, value in (GOOD | changed).items() if value is not None}
    return build({"accounts": [ACCOUNT], "authorization": written}, home=home).authorization


def test_the_resource_is_the_audience_unless_others_are_named(tmp_path: Path) -> None:
    assert built(tmp_path).accepted_audiences == ("https://mail.example.com/mcp",)
    assert built(tmp_path, audiences=["api://mail"]).accepted_audiences == ("api://mail",)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"issuer": None}, "issuer is missing"),
        ({"resource": None}, "resource is missing"),
        ({"grants": None}, "grants is missing"),
        ({"grants": []}, "grants is missing"),
        ({"issuer": "http://login.example.com"}, "authorization.issuer: write a URL that starts with https://"),
        ({"jwks_url": "ftp://x"}, "authorization.jwks_url"),
        ({"resource": "https://mail.example.com/mcp#x"}, "no fragment"),
        ({"algorithms": ["HS256"]}, "authorization.algorithms[0]: unknown value 'HS256'"),
        ({"algorithms": ["none"]}, "authorization.algorithms[0]: unknown value 'none'"),
        ({"algorithms": []}, "authorization.algorithms"),
        ({"toolset_scopes": {"read": "two words"}}, "write one scope"),
        ({"grants": [{"accounts": ["wrok"]}]}, "grants[0].accounts: there is no account wrok; did you mean work?"),
        ({"grants": [{"gate": "open"}]}, "unknown value 'open'"),
        ({"grants": [{"acounts": ["work"]}]}, "grants[0].acounts: unknown key; did you mean accounts?"),
        ({"grants": [{"read_only": "yes"}]}, "write true or false"),
    ],
)
def test_what_is_wrong_is_said_by_its_key(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        built(tmp_path, **changed)
    assert said in wrong.value.message


def test_every_key_can_come_from_the_environment(tmp_path: Path) -> None:
    environ = {
        "POSTROOM_HOME": str(tmp_path),
        "POSTROOM_AUTHORIZATION__ISSUER": GOOD["issuer"],
        "POSTROOM_AUTHORIZATION__RESOURCE": GOOD["resource"],
        "POSTROOM_AUTHORIZATION__ALGORITHMS": "ES256,EdDSA",
        "POSTROOM_AUTHORIZATION__TOOLSET_SCOPES": '{"read": "mail.read"}',
        "POSTROOM_AUTHORIZATION__GRANTS": '[{"subject": "alice", "toolsets": ["read"], "read_only": true}]',
    }
    data = merge_environment({"accounts": [ACCOUNT]}, {key: str(value) for key, value in environ.items()})

    read = build(data, home=tmp_path).authorization

    assert (read.algorithms, read.toolset_scopes) == (("ES256", "EdDSA"), {"read": "mail.read"})
    assert (read.grants[0].subject, read.grants[0].toolsets, read.grants[0].read_only) == ("alice", ("read",), True)


def test_without_it_no_access_token_is_accepted(tmp_path: Path) -> None:
    assert load(environ={"POSTROOM_HOME": str(tmp_path)}).authorization.issuer == ""
