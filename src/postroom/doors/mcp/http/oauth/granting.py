"""What the bearer of a valid token may do: the first grant that fits, less what the token's scopes do not cover."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from postroom.doors.mcp.http.oauth.refusals import ScopeMissing
from postroom.doors.mcp.http.oauth.verifying import Bearer
from postroom.settings import Settings
from postroom.settings.authorization import Grant
from postroom.settings.clients import Client


@dataclass(frozen=True, slots=True)
class Granted:
    client: Client
    missing: Mapping[str, str]  # toolsets that the bearer would have with the scope beside them


def grant(settings: Settings, bearer: Bearer) -> Granted:
    """ScopeMissing if nothing is granted."""
    fitting = [each for each in settings.authorization.grants if _is_for(each, bearer)]
    found = next((each for each in fitting if not each.scope or each.scope in bearer.scopes), None)
    if found is None:
        raise ScopeMissing([each.scope for each in fitting[:1]])
    needed = settings.authorization.toolset_scopes
    offered = found.toolsets or settings.server.toolsets
    covered = tuple(name for name in offered if not needed or needed.get(name) in bearer.scopes)
    missing: dict[str, str] = {name: needed[name] for name in offered if name in needed and name not in covered}
    if not covered:  # a client without toolsets would have all of them
        raise ScopeMissing(list(missing.values())[:1])
    client = Client(
        name=_pseudonym(settings.authorization.issuer, bearer),
        digest="",
        accounts=found.accounts,
        toolsets=covered,
        gate=found.gate,
        read_only=found.read_only,
    )
    return Granted(client, missing)


def _is_for(grant: Grant, bearer: Bearer) -> bool:
    return grant.subject in ("", bearer.subject) and grant.client in ("", bearer.client)


def _pseudonym(issuer: str, bearer: Bearer) -> str:
    """In log lines and in the name of the download folder. A subject may be an address, and contain anything."""
    identity = json.dumps([issuer, bearer.subject, bearer.client])
    return "oauth-" + hashlib.sha256(identity.encode()).hexdigest()[:16]
