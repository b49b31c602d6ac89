"""Access tokens of an authorisation server: whose tokens are accepted, and what each bearer may do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from postroom.settings.fields import AsList, EnvText, Section, Switch
from postroom.settings.oauth import Endpoint
from postroom.settings.sections import Gate, Toolset

# Signatures only: with a shared secret, whoever can verify a token could also make one.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def _table(value: Any) -> Any:
    """From the environment, a JSON object."""
    return json.loads(value) if isinstance(value, EnvText) else value


def _one_scope(text: str) -> str:
    """RFC 6749, 3.3. It is sent in a header."""
    if not text or any(not "!" <= letter <= "~" or letter in '"\\' for letter in text):
        raise ValueError("write one scope, without spaces or quotes")
    return text


def _gate(text: str) -> str:
    if text not in ("", *get_args(Gate)):
        raise ValueError(f"unknown value {text[:40]!r}; one of {', '.join(get_args(Gate))}")
    return text


Scope = Annotated[str, AfterValidator(_one_scope)]


class Grant(Section):
    """`subject`, `client` and `scope` say whose it is: all that are given must be in the token. The rest is what the
    bearer may do; empty: as the settings have it."""

    subject: str = ""
    client: str = ""
    scope: Annotated[str, AfterValidator(lambda text: text and _one_scope(text))] = ""
    accounts: Annotated[tuple[str, ...], *AsList] = ()
    toolsets: Annotated[tuple[Toolset, ...], *AsList] = ()
    gate: Annotated[str, AfterValidator(_gate)] = ""
    read_only: Switch = False


class AuthorizationSettings(Section):
    """An empty `issuer`: no such tokens."""

    issuer: Endpoint = ""
    resource: Endpoint = ""
    audiences: Annotated[tuple[str, ...], *AsList] = ()
    jwks_url: Endpoint = ""
    algorithms: Annotated[tuple[Algorithm, ...], *AsList, Field(min_length=1)] = ("RS256", "ES256")
    toolset_scopes: Annotated[Mapping[Toolset, Scope], BeforeValidator(_table)] = Field(default_factory=dict)
    grants: Annotated[tuple[Grant, ...], *AsList] = ()

    @model_validator(mode="after")
    def _complete(self) -> AuthorizationSettings:
        if not self.issuer:
            if self.model_fields_set:
                raise ValueError("issuer is missing: the authorisation server whose tokens are accepted")
            return self
        if not self.resource:
            raise ValueError("resource is missing: the address of this server as clients know it, which tokens name")
        if urlsplit(self.resource).fragment:
            raise ValueError("resource must have no fragment")
        if not self.grants:
            raise ValueError("grants is missing: without one no token gives access to anything")
        return self

    @property
    def accepted_audiences(self) -> tuple[str, ...]:
        """Without `audiences`, the resource itself (RFC 8707)."""
        return self.audiences or (self.resource,)

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that can make a difference."""
        named = (*self.toolset_scopes.values(), *(grant.scope for grant in self.grants if grant.scope))
        return tuple(dict.fromkeys(named))
