"""The account's rules on its server: one script of our own. Another program's script is never replaced or stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.model.errors import Conflict
from postroom.model.folder import Folder
from postroom.model.rule import Rule, RuleSet
from postroom.providers import sieve
from postroom.providers.imap.rules.managesieve import SieveScripts

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount


class ServerRules:
    def __init__(self, account: ImapAccount) -> None:
        self._scripts = SieveScripts(account)

    async def kept(self) -> RuleSet:
        known = await self._scripts.list()
        if sieve.NAME not in known.names:
            return RuleSet((), is_active=False)
        return RuleSet(sieve.rules_of(await self._scripts.get(sieve.NAME)), known.active == sieve.NAME)

    async def check(self, rules: Sequence[Rule], folders: list[Folder]) -> dict[str, tuple[str, ...]]:
        lacking = {rule.name: sieve.inexpressible(rule, folders) for rule in rules}
        rest = [rule for rule in rules if not lacking[rule.name]]
        await self._scripts.check(sieve.compiled(rest, folders))
        return {name: reasons for name, reasons in lacking.items() if reasons}

    async def put(self, rules: Sequence[Rule], folders: list[Folder]) -> None:
        await self._scripts.put(sieve.NAME, sieve.compiled(rules, folders))

    async def activate(self, active: bool) -> None:
        running = (await self._scripts.list()).active
        if running not in ("", sieve.NAME):
            raise Conflict(
                f"The mail server runs only one script at a time, now {running[:80]!r}, which is not Postroom's. "
                "Ask the user to deactivate it first."
            )
        if active or running:
            await self._scripts.activate(sieve.NAME if active else "")
