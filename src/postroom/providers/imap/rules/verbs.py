"""The mailbox's verbs for what its server does by itself: rules, and the vacation reply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.model.capabilities import Capabilities
from postroom.model.errors import Unsupported
from postroom.model.folder import Folder
from postroom.model.rule import Rule, RuleSet
from postroom.model.vacation import Vacation
from postroom.providers.imap.rules.keeping import ServerScript
from postroom.providers.imap.session.detecting import PROVIDER

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount


class ScriptVerbs(ABC):
    """Rules and Vacations."""

    def __init__(self, account: ImapAccount, home: Path) -> None:
        self.script = ServerScript(account, home)

    @abstractmethod
    async def connect(self) -> Capabilities: ...

    @abstractmethod
    async def known_folders(self) -> list[Folder]: ...

    async def list_rules(self) -> RuleSet:
        return await self.script.kept_rules()

    async def check_rules(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        return await self.script.check_rules(rules, await self.known_folders())

    async def put_rules(self, rules: Sequence[Rule]) -> None:
        await self.script.put_rules(rules, await self.known_folders())

    async def activate_rules(self, active: bool) -> None:
        await self.script.activate_rules(active)

    async def vacation(self) -> Vacation:
        await self._require_vacations()
        return await self.script.vacation()

    async def check_vacation(self, wanted: Vacation) -> str:
        await self._require_vacations()
        await self.script.check_vacation(wanted)
        return ""

    async def stop_vacation(self) -> None:
        await self._require_vacations()
        await self.script.stop_vacation()

    async def _require_vacations(self) -> None:
        if not (await self.connect()).has_vacation:
            raise Unsupported(PROVIDER, "vacation replies")
