"""Rules as one Sieve script of our own (RFC 9661). Another program's script is never replaced or stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postroom.model.errors import Conflict, InvalidRequest
from postroom.model.folder import Folder, Role
from postroom.model.rule import Rule, RuleSet
from postroom.providers import sieve
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import set_error


class ServerRules:
    def __init__(self, client: JmapClient) -> None:
        self._client = client

    async def kept(self) -> RuleSet:
        ours = _ours(await self._scripts())
        if ours is None:
            return RuleSet((), is_active=False)
        text = (await self._client.download(str(ours["blobId"]))).decode("utf-8", "replace")
        return RuleSet(sieve.rules_of(text), ours.get("isActive") is True)

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
        script = sieve.compiled(rules, _named(folders)).encode()
        ours = _ours(await self._scripts())
        blob_id = await self._client.upload(script)
        if ours is None:
            change: dict[str, Any] = {"create": {"new": {"name": sieve.NAME, "blobId": blob_id}}}
        else:
            change = {"update": {ours["id"]: {"blobId": blob_id}}}
        reply = (await self._client.write(("SieveScript/set", change)))[0]
        for refusals in (reply.get("notCreated"), reply.get("notUpdated")):
            for error in (refusals or {}).values():
                raise _refused() if error.get("type") == "invalidSieve" else set_error(error)

    async def activate(self, active: bool) -> None:
        scripts = await self._scripts()
        running, ours = next((one for one in scripts if one.get("isActive") is True), None), _ours(scripts)
        if running is not None and running is not ours:
            raise Conflict(
                f"The mail server runs only one script at a time, now {str(running.get('name', ''))[:80]!r}, which is "
                "not Postroom's. Ask the user to deactivate it first."
            )
        if active and ours is None:
            raise InvalidRequest("There are no rules on the server yet. Put some there first.")
        if active and ours is not None:
            await self._set_active({"onSuccessActivateScript": ours["id"]})
        elif running is not None:
            await self._set_active({"onSuccessDeactivateScript": True})

    async def _set_active(self, wanted: dict[str, Any]) -> None:
        _ = (await self._client.write(("SieveScript/set", wanted)))[0]

    async def _scripts(self) -> list[dict[str, Any]]:
        found = (await self._client.read(("SieveScript/get", {"ids": None})))[0].get("list")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _ours(scripts: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((one for one in scripts if one.get("name") == sieve.NAME), None)


def _named(folders: list[Folder]) -> list[Folder]:
    """In a script folders are named, not identified."""
    return [replace(folder, ref="INBOX" if folder.role == Role.INBOX else folder.name) for folder in folders]


def _refused() -> InvalidRequest:
    return InvalidRequest(
        "The mail server refuses this script. Use fewer or simpler rules.", details={"field": "rules"}
    )
