"""Rules in one Sieve script of our own (RFC 9661). Another program's script is never replaced or stopped.

The script may also have a vacation reply that an IMAP account of the same mailbox put there: it stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from postroom.model.errors import Conflict, InvalidRequest
from postroom.model.folder import Folder, Role
from postroom.model.rule import Rule, RuleSet
from postroom.providers import sieve, sieve_script
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import set_error
from postroom.providers.sieve_script import NAME, Script


@dataclass(frozen=True, slots=True)
class Kept:
    """Our script with its id (empty: there is none), the name of the script that runs, and the server's name for this
    state of all scripts."""

    script: Script
    text: str
    script_id: str
    running: str | None
    state: str | None


class ServerRules:
    def __init__(self, client: JmapClient) -> None:
        self._client = client

    async def kept(self) -> RuleSet:
        script = (await self._kept()).script
        return RuleSet(sieve.rules_of(script.rules), script.rules_on)

    async def check(self, rules: Sequence[Rule], folders: list[Folder]) -> dict[str, tuple[str, ...]]:
        places = _named(folders)
        lacking = {rule.name: sieve.inexpressible(rule, places) for rule in rules}
        rest = [rule for rule in rules if not lacking[rule.name]]
        blob_id = await self._client.upload(sieve.compiled(rest, places).encode())
        reply = (await self._client.read(("SieveScript/validate", {"blobId": blob_id})))[0]
        if reply.get("error") is not None:
            raise _refused()
        return {name: reasons for name, reasons in lacking.items() if reasons}

    async def put(self, rules: Sequence[Rule], folders: list[Folder]) -> None:
        """An active script stays active: its content is exchanged."""
        compiled = sieve.compiled(rules, _named(folders))
        before = await self._kept()
        await self._write(before, replace(before.script, rules=compiled))

    async def activate(self, active: bool) -> None:
        before = await self._kept()
        if before.running not in (None, NAME):
            raise Conflict(
                f"The mail server runs only one script at a time, now {before.running[:80]!r}, which is not "
                "Postroom's. Ask the user to deactivate it first."
            )
        if active and not before.script_id:
            raise InvalidRequest("There are no rules on the server yet. Put some there first.")
        await self._write(before, replace(before.script, rules_on=active))

    async def _write(self, before: Kept, after: Script) -> None:
        change: dict[str, Any] = {}
        if after.text.rstrip("\n") != before.text.replace("\r\n", "\n").rstrip("\n"):
            blob_id = await self._client.upload(after.text.encode())
            created = {"create": {"new": {"name": NAME, "blobId": blob_id}}}
            change = {"update": {before.script_id: {"blobId": blob_id}}} if before.script_id else created
        if after.runs and before.running != NAME:
            change["onSuccessActivateScript"] = before.script_id
        elif before.running == NAME and not after.runs:
            change["onSuccessDeactivateScript"] = True
        if not change:
            return
        if before.state:  # else a reply that was switched off meanwhile would come back with what was read before
            change["ifInState"] = before.state
        reply = (await self._client.write(("SieveScript/set", change)))[0]
        for refusals in (reply.get("notCreated"), reply.get("notUpdated")):
            for error in (refusals or {}).values():
                raise _refused() if error.get("type") == "invalidSieve" else set_error(error)

    async def _kept(self) -> Kept:
        reply = (await self._client.read(("SieveScript/get", {"ids": None})))[0]
        found, state = reply.get("list"), reply.get("state")
        scripts = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        running = next((str(one.get("name") or "") for one in scripts if one.get("isActive") is True), None)
        ours = next((one for one in scripts if one.get("name") == NAME), None)
        if ours is None:
            return Kept(Script(), "", "", running, state)
        text = (await self._client.download(str(ours["blobId"]))).decode("utf-8", "replace")
        return Kept(sieve_script.read(text, is_active=running == NAME), text, str(ours["id"]), running, state)


def _named(folders: list[Folder]) -> list[Folder]:
    """In a script folders are named, not identified."""
    return [replace(folder, ref="INBOX" if folder.role == Role.INBOX else folder.name) for folder in folders]


def _refused() -> InvalidRequest:
    return InvalidRequest(
        "The mail server refuses this script. Use fewer or simpler rules.", details={"field": "rules"}
    )
