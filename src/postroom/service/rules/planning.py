"""Which messages a rule would change now, and how: found, judged, and pinned as a plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from postroom.mime.clean import clean_line
from postroom.mime.guarded import search_text
from postroom.model.address import Address
from postroom.model.errors import Unsupported
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Message
from postroom.model.query.widening import widened
from postroom.model.rule import Action, Definition, Rule
from postroom.service.accounts.folders import folders_of
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import rows
from postroom.service.reading.fetching import fetch_many
from postroom.service.rules.effects import Step, steps_of
from postroom.service.rules.judging import READ_FIELDS, Candidate, fulfils
from postroom.service.rules.narrowing import NOT_LOOKED_AT, names_folder, search_for
from postroom.service.rules.views import PlannedEmail, PlanView
from postroom.service.rules.wording import action_text
from postroom.store import NewPlan, PlanItem, StoredPlan

MAX_EXAMINED, MAX_OPENED = 10_000, 1_000  # per plan
_PAGE, _OPENED_AT_ONCE = 100, 50  # a page is no longer than any tool asks for: some servers refuse more
_AWAY = (Role.TRASH, Role.JUNK)


@dataclass(frozen=True, slots=True)
class Planned:
    envelope: Envelope
    steps: tuple[Step, ...]


@dataclass
class Search:
    """How far the search for a plan's messages has come."""

    planned: list[Planned] = field(default_factory=list)
    examined: int = 0
    opened: int = 0
    bare: int = 0
    action_count: int = 0
    has_more: bool = False
    notices: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.has_more or bool(self.notices)


async def make_plan(
    gateway: Gateway,
    account: Account,
    definition: Definition,
    source: str,
    *,
    rule_id: str = "",
    scheduled: bool = False,
) -> tuple[PlanView, StoredPlan]:
    """Search, judge and pin. Nothing is changed; a condition that the provider cannot tell is an error."""
    steps = await steps_of(account, definition.rule)
    found = await _found(gateway, account, definition, steps)
    envelopes = [planned.envelope for planned in found.planned]
    shown = await rows(gateway, account, envelopes)
    refs = {row.email_id: envelope.ref for row, envelope in zip(shown, envelopes, strict=True)}
    handles = await gateway.ids.handles_of(gateway, account.name, refs) if refs else []
    items = tuple(
        PlanItem(handle, tuple(step.position for step in planned.steps))
        for handle, planned in zip(handles, found.planned, strict=True)
    )
    new = NewPlan(account.name, rule_id, definition.rule.name, source, items)
    stored = await gateway.in_thread(gateway.store.plans.save, new, is_scheduled=scheduled)
    results = tuple(
        PlannedEmail(row, tuple(action_text(step.action) for step in planned.steps))
        for row, planned in zip(shown, found.planned, strict=True)
    )
    view = PlanView(
        plan_id=stored.plan_id,
        rule_id=rule_id,
        name=clean_line(definition.rule.name),
        account=account.name,
        expires=gateway.shown_time(stored.expires_at),
        results=results,
        action_count=found.action_count,
        examined=found.examined,
        has_more=found.has_more,
        notices=tuple(found.notices),
    )
    return view, stored


async def _found(gateway: Gateway, account: Account, definition: Definition, steps: Sequence[Step]) -> Search:
    search, rule = Search(), definition.rule
    folders = await folders_of(account)
    query = search_for(rule, folders, gateway.now())
    query, left_out = widened(query, account.capabilities.search_not_applied)
    if left_out:
        raise Unsupported(account.capabilities.provider, f"rules about {', '.join(left_out)}")
    seen: set[str] = set()
    while not search.is_over:
        page = await account.mailbox.search(query, limit=_PAGE, offset=search.examined)
        search.examined += len(page.items)
        fresh = [envelope for envelope in page.items if envelope.ref not in seen]
        seen.update(envelope.ref for envelope in fresh)
        search.bare += sum(envelope.ref in page.bare for envelope in fresh)
        fresh = [envelope for envelope in fresh if envelope.ref not in page.bare]
        matching = await matching_of(gateway, account, rule, fresh, folders, search)
        await _pin(gateway, account, definition, steps, matching, search)
        if not page.has_more or not page.items:
            break
        if search.examined >= MAX_EXAMINED and not search.is_over:
            search.notices.append(
                f"Only the newest {search.examined} candidates were looked at. Add conditions (folder, from, age_days) "
                "so that the rule has fewer."
            )
    if search.bare:
        search.notices.append(
            f"The mail server does not return {search.bare} of the candidates. They were left out, since nobody can "
            "tell whether they match the rule."
        )
    return search


async def matching_of(
    gateway: Gateway,
    account: Account,
    rule: Rule,
    envelopes: Sequence[Envelope],
    folders: Sequence[Folder],
    search: Search | None = None,
) -> list[Envelope]:
    """Those that fulfil the rule now. Messages are opened only where the envelope cannot tell, and within the search's
    bounds."""
    now = gateway.now()
    on_envelope = [condition for condition in rule.conditions if condition.field not in READ_FIELDS]
    on_message = [condition for condition in rule.conditions if condition.field in READ_FIELDS]
    hopeful = [
        envelope
        for envelope in envelopes
        if _is_looked_at(rule, envelope, folders) and fulfils(on_envelope, Candidate(envelope, folders, now))
    ]
    if not on_message:
        return hopeful
    found: list[Envelope] = []
    for start in range(0, len(hopeful), _OPENED_AT_ONCE):
        block = hopeful[start : start + _OPENED_AT_ONCE]
        if search is not None and search.opened + len(block) > MAX_OPENED:
            search.notices.append(
                f"Only the newest {search.opened} candidates were opened to read their {on_message[0].field}. Add "
                "conditions (folder, from, age_days) so that fewer must be opened."
            )
            break
        if search is not None:
            search.opened += len(block)
        for envelope, message in zip(block, await fetch_many(account, [one.ref for one in block]), strict=True):
            if message is not None and fulfils(on_message, await _read(gateway, envelope, message, folders)):
                found.append(envelope)
    return found


async def _read(gateway: Gateway, envelope: Envelope, message: Message, folders: Sequence[Folder]) -> Candidate:
    text = await gateway.read(search_text, message.body)
    return Candidate(
        envelope,
        folders,
        gateway.now(),
        text=" ".join(text.split()),
        list_ids=tuple(message.headers.get("list-id", ())),
    )


def _is_looked_at(rule: Rule, envelope: Envelope, folders: Sequence[Folder]) -> bool:
    """Without a folder that it names, a rule is about mail that came in and was not thrown away."""
    if names_folder(rule):
        return True
    roles = [folder.role for folder in folders if folder.name in envelope.folders]
    is_own = bool(roles) and all(role in NOT_LOOKED_AT for role in roles)
    return not envelope.draft and not is_own and not any(role in _AWAY for role in roles)


async def _pin(
    gateway: Gateway,
    account: Account,
    definition: Definition,
    steps: Sequence[Step],
    matching: Sequence[Envelope],
    search: Search,
) -> None:
    """A message is pinned with all its actions or not at all, as long as one run may do them."""
    done = await forwarded(gateway, account, definition.rule, matching)
    for envelope in matching:
        todo = tuple(step for step in steps if step.alters(envelope) and _key(envelope, step.action) not in done)
        if not todo:
            continue
        if search.action_count + len(todo) > definition.safety.max_actions_per_run:
            search.has_more = True
            return
        search.action_count += len(todo)
        search.planned.append(Planned(envelope, todo))


async def forwarded(
    gateway: Gateway, account: Account, rule: Rule, envelopes: Sequence[Envelope]
) -> Collection[tuple[str, str]]:
    """What a rule of this name has forwarded already, as message and address."""
    found: set[tuple[str, str]] = set()
    for action in rule.actions:
        if action.type == "forward":
            mails = [mail_key(envelope) for envelope in envelopes]
            known = await gateway.in_thread(
                gateway.store.plans.forwarded, account.name, rule.name, mails, Address(action.target).key
            )
            found |= {(mail, action.target) for mail in known}
    return found


def mail_key(envelope: Envelope) -> str:
    """The same message, wherever it was moved: to another folder means another ref at some servers."""
    if envelope.message_id:
        return envelope.message_id
    date = envelope.date.isoformat() if envelope.date else ""
    said = [envelope.sender.key, [one.key for one in envelope.to], envelope.subject, date]
    return "without-id-" + hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _key(envelope: Envelope, action: Action) -> tuple[str, str]:
    return mail_key(envelope), action.target if action.type == "forward" else ""
