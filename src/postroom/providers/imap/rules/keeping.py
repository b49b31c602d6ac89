"""The account's rules and vacation reply on its server, in one script of our own. Another program's script is never
replaced or stopped.

ManageSieve has no way to change a script only if nobody else has: each change reads what is there and writes it back in
one conversation, and a lock keeps other changes from this home out of it. Otherwise a reply that was switched off could
be put back along with rules that were read before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.files.lock_file import locked
from postroom.model.errors import Conflict, InvalidRequest, ProviderUnavailable, Unsupported
from postroom.model.folder import Folder
from postroom.model.rule import Rule, RuleSet
from postroom.model.vacation import Vacation
from postroom.providers import sieve, sieve_script
from postroom.providers.imap.rules.managesieve import Conversation, SieveScripts
from postroom.providers.imap.session.detecting import PROVIDER
from postroom.providers.sieve_script import NAME, Script

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

_PATIENCE = 30.0  # seconds for the changes that others have begun
_BY_HAND = "Leave the days out, and switch it off when they are over."


@dataclass(frozen=True, slots=True)
class Kept:
    """Our script, its text as the server has it, and the name of the script that runs."""

    script: Script
    text: str
    running: str

    def for_us(self) -> Script:
        """Conflict while somebody else's script runs."""
        if self.running not in ("", NAME):
            raise Conflict(
                f"The mail server runs only one script at a time, now {self.running[:80]!r}, which is not Postroom's. "
                "Ask the user to deactivate it first."
            )
        return self.script


class ServerScript:
    def __init__(self, account: ImapAccount, home: Path) -> None:
        self._scripts = SieveScripts(account)
        self._lock = home / "sieve" / f"{_digest(account)}.lock"
        self._own = tuple(dict.fromkeys([account.address, *(one.address for one in account.identities)]))

    # Rules

    async def kept_rules(self) -> RuleSet:
        script = (await self._scripts.run(_read)).script
        return RuleSet(sieve.rules_of(script.rules), script.rules_on)

    async def check_rules(self, rules: Sequence[Rule], folders: list[Folder]) -> dict[str, tuple[str, ...]]:
        lacking = {rule.name: sieve.inexpressible(rule, folders) for rule in rules}
        rest = [rule for rule in rules if not lacking[rule.name]]
        await self._scripts.check(sieve.compiled(rest, folders))
        return {name: reasons for name, reasons in lacking.items() if reasons}

    async def put_rules(self, rules: Sequence[Rule], folders: list[Folder]) -> None:
        compiled = sieve.compiled(rules, folders)

        def put(server: Conversation) -> None:
            before = _read(server)
            _write(server, before, replace(before.script, rules=compiled))

        await self._change(put)

    async def activate_rules(self, active: bool) -> None:
        def switch(server: Conversation) -> None:
            before = _read(server)
            _write(server, before, replace(before.for_us(), rules_on=active))

        await self._change(switch)

    # The vacation reply

    async def can_reply(self) -> bool:
        return await self._scripts.offers("vacation")

    async def vacation(self) -> Vacation:
        """With a note where a script runs that is not as Postroom writes it."""
        try:
            kept = await self._scripts.run(_read)
        except Conflict as changed:
            return Vacation(False, note=changed.message)
        if kept.running in ("", NAME):
            return kept.script.vacation
        note = (
            f"The mail server runs the script {kept.running[:80]!r}, which is not Postroom's. Whether that one replies "
            "to mail cannot be told here: the user sees it where the script is kept."
        )
        return replace(kept.script.vacation, note=note)

    async def check_vacation(self, wanted: Vacation) -> None:
        """With the server, which may refuse the script or have no room for it."""

        def check(server: Conversation) -> None:
            with _refusals_in_our_words():
                server.check(self._with(wanted, _read(server), server).text)

        await self._scripts.run(check)

    async def start_vacation(self, wanted: Vacation) -> None:
        def start(server: Conversation) -> None:
            before = _read(server)
            with _refusals_in_our_words():
                _write(server, before, self._with(wanted, before, server))

        await self._change(start)

    async def stop_vacation(self) -> None:
        def stop(server: Conversation) -> None:
            before = _read(server)
            script = before.for_us()
            _write(server, before, replace(script, vacation=replace(script.vacation, enabled=False)))

        await self._change(stop)

    async def _change(self, change: Callable[[Conversation], None]) -> None:
        def alone(server: Conversation) -> None:
            with _nobody_else(self._lock):
                change(server)

        await self._scripts.run(alone)

    def _with(self, wanted: Vacation, before: Kept, server: Conversation) -> Script:
        if "vacation" not in server.extensions:
            raise Unsupported(PROVIDER, "vacation replies (this server's Sieve lacks them)")
        if (wanted.start or wanted.end) and not {"date", "relational"} <= server.extensions:
            raise Unsupported(PROVIDER, "a period for vacation replies", _BY_HAND)
        return replace(before.for_us(), vacation=wanted, addresses=self._own)


def _read(server: Conversation) -> Kept:
    known = server.list()
    text = server.get(NAME) if NAME in known.names else ""
    return Kept(sieve_script.read(text, is_active=known.active == NAME), text, known.active)


def _write(server: Conversation, before: Kept, after: Script) -> None:
    """The new content first: it replaces a running script at once, and a stopped one harmlessly."""
    if after.text.rstrip("\n") != before.text.replace("\r\n", "\n").rstrip("\n"):
        server.put(NAME, after.text)
    if after.runs != (before.running == NAME):
        server.activate(NAME if after.runs else "")


@contextmanager
def _nobody_else(lock: Path) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(lock, patience=_PATIENCE))
        except TimeoutError:
            raise ProviderUnavailable(
                "Another change to the script at the mail server takes too long. Nothing was changed; try again later."
            ) from None
        yield


def _digest(account: ImapAccount) -> str:
    """Of the mailbox, which several accounts may be."""
    return hashlib.sha256(f"{account.username}\n{account.sieve_host}".encode()).hexdigest()[:16]


@contextmanager
def _refusals_in_our_words() -> Iterator[None]:
    """What a server complains about may quote the reply."""
    try:
        yield
    except InvalidRequest as refused:
        if refused.details.get("field") != "script":
            raise
        raise InvalidRequest(
            "The mail server refuses the script of this vacation reply; it may have no room for it. Shorten the text.",
            details={"field": "body"},
        ) from None
