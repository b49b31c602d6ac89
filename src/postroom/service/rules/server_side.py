"""Rules that a mail server runs itself, on mail as it arrives: written in its own form, with what that cannot express.

Only rules that Postroom put on a server are changed there.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from postroom.files.lock_file import locked
from postroom.model.errors import InvalidRequest, PostroomError, ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.model.rule import Condition, Definition
from postroom.providers import registry
from postroom.service.accounts.folders import folders_of
from postroom.service.gateway import Account, Gateway
from postroom.settings.mailboxes import owner_of

Form = Literal["sieve", "gmail", "graph"]
_PATIENCE = 30.0  # seconds for the changes that others have begun
_USUAL = [Folder(role.value.capitalize(), role.value.capitalize(), role) for role in Role]


@dataclass(frozen=True, slots=True)
class ServerForm:
    """`text` is empty where something is lacking. `differences` is what the server does otherwise than Postroom."""

    form: str
    text: str
    lacking: tuple[str, ...]
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The rules of Postroom that are on the server now, and whether it runs them."""

    account: str
    names: tuple[str, ...]
    is_running: bool
    notice: str = ""


async def compile_rule(
    gateway: Gateway, definition: Definition, form: Form, *, account: str | None = None
) -> ServerForm:
    """With an account named, its folders are looked up; otherwise those that most accounts have are assumed."""
    folders = await folders_of(await gateway.accounts.open(account)) if account else _assumed(definition)
    text, lacking = registry.server_form(form, definition.rule, folders)
    return ServerForm(form, text, lacking, differences(definition, form))


async def upload_rule(gateway: Gateway, definition: Definition, *, account: str | None = None) -> Uploaded:
    """InvalidRequest, and no change, where the server cannot express the rule; it replaces one of the same name."""
    opened = await gateway.accounts.open(account)
    server = opened.rules
    rule = definition.rule
    lacking = (await server.check_rules([rule])).get(rule.name, ())
    if lacking:
        raise InvalidRequest(
            f"The mail server of account {opened.name} cannot run this rule: {'; '.join(lacking)}. Nothing was "
            "uploaded; run it here instead, by schedule or with run_rule.",
            details={"lacking": list(lacking)},
        )
    async with _nobody_else(gateway, opened):
        others = [one for one in (await server.list_rules()).rules if one.name != rule.name]
        await server.put_rules([*others, rule])
        return await _activated(gateway, opened.name, True)


async def remove_uploaded(gateway: Gateway, name: str, *, account: str | None = None) -> Uploaded:
    opened = await gateway.accounts.open(account)
    async with _nobody_else(gateway, opened):
        there = (await opened.rules.list_rules()).rules
        if name not in [rule.name for rule in there]:
            names = ", ".join(rule.name for rule in there) or "none"
            raise InvalidRequest(f"Postroom has put no rule {name[:80]!r} on this server. Its rules there: {names}.")
        left = [rule for rule in there if rule.name != name]
        await opened.rules.put_rules(left)
        return await _activated(gateway, opened.name, bool(left))


@asynccontextmanager
async def _nobody_else(gateway: Gateway, account: Account) -> AsyncIterator[None]:
    """All rules are put there together: of two commands at the same moment, one would take away what the other put.
    Two accounts may be one mailbox."""
    digest = hashlib.sha256(owner_of(account.settings).encode()).hexdigest()[:16]
    path = gateway.settings.home / "rules" / f"{digest}.lock"
    with ExitStack() as stack:
        try:
            await gateway.in_thread(stack.enter_context, locked(path, patience=_PATIENCE))
        except TimeoutError:
            raise ProviderUnavailable(
                "Another command is changing the rules of this account. Nothing was changed; try again later."
            ) from None
        yield


async def _activated(gateway: Gateway, account: str, wanted: bool) -> Uploaded:
    """What is there is reported, also where another program's rules keep ours from running."""
    opened = await gateway.accounts.open(account)
    notice = ""
    if wanted:
        try:
            await opened.rules.activate_rules(True)
        except PostroomError as error:
            notice = error.message
    there = await opened.rules.list_rules()
    return Uploaded(opened.name, tuple(rule.name for rule in there.rules), there.is_active, notice)


def differences(definition: Definition, form: Form) -> tuple[str, ...]:
    """Where a server takes the same words to mean something else. Schedules and limits are Postroom's own."""
    found = ["It runs on mail that arrives from now on, not on mail that is there."]
    if definition.every_minutes is not None:
        found.append("The schedule is left out: the server runs the rule when a message arrives.")
    found.append("There is no dry run, no limit of actions, no journal and no undo on the server.")
    found += [said for condition in definition.rule.conditions if (said := _difference(condition, form))]
    return tuple(dict.fromkeys(found))


def _difference(condition: Condition, form: Form) -> str:
    if condition.operator == "contains" and form in ("sieve", "graph"):
        return f"{condition.field} contains: the server also finds parts of words."
    if form == "gmail" and condition.field in ("from", "to", "cc", "subject", "body", "list_id"):
        return f"{condition.field} {condition.operator}: Gmail compares whole words and ignores accents."
    if form == "sieve" and any(not value.isascii() for value in condition.values):
        return f"{condition.field}: Sieve ignores case only in letters without accents."
    return ""


def _assumed(definition: Definition) -> list[Folder]:
    """Folders that the rule moves messages to are taken to exist."""
    targets = [action.target for action in definition.rule.actions if action.type == "move_folder"]
    return [*_USUAL, *(Folder(name, name) for name in targets)]
