"""The same rule on the same mails gives the same plan on every provider, and its run can be undone there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from postroom.model.errors import InvalidRequest, Unsupported
from postroom.service.gateway import Accounts, Gateway
from postroom.service.ids.handles import BY_HANDLE
from postroom.service.organising import organise
from postroom.service.rules import rules, running
from postroom.service.rules.views import PlanView
from postroom.settings import build
from postroom.store import open_store
from postroom.store.clock import Clock
from postroom.store.vault.folder import Vault

from .mails import NOW, PDF, mail
from .rigs import Rig, RigAccount, SeedMail

MAILS = {
    "weekly": SeedMail(
        mail(
            "weekly",
            sender="Circuit Weekly <news@circuit.example>",
            subject="Number 41: the weekly round-up",
            days_ago=9,
        )
    ),
    "fresh": SeedMail(
        mail(
            "fresh",
            sender="Circuit Weekly <news@circuit.example>",
            subject="Number 42: the weekly round-up",
            days_ago=2,
        )
    ),
    "accent": SeedMail(
        mail(
            "accent", sender="Jürgen <post@circuït.example>", subject="Grüße aus Köln", text="Viele Grüße!", days_ago=30
        )
    ),
    "plain": SeedMail(
        mail("plain", sender="Grusse <grusse@friends.example>", subject="Grusse aus Koln", text="Grusse!", days_ago=30)
    ),
    "invoice": SeedMail(
        mail(
            "invoice",
            sender="Anna <anna@docks.example>",
            subject="Invoice 4711",
            text="Please pay the invoice by Friday.",
            cc="books@demo.example",
            days_ago=3,
            files=[("invoice.pdf", PDF)],
        ),
        flags=("read",),
    ),
    "reminder": SeedMail(
        mail(
            "reminder",
            sender="Anna <anna@docks.example>",
            subject="Re: Invoices",
            text="Several invoices are due.",
            days_ago=40,
        )
    ),
    "japanese": SeedMail(
        mail(
            "japanese",
            sender="田中太郎 <tanaka@kaisha.example>",
            subject="請求書をお送りします",
            text="会議の資料です。",
            days_ago=80,
        )
    ),
    "moved": SeedMail(
        mail("moved", sender="Anna <anna@docks.example>", subject="Old plans", days_ago=300), folder="Projects"
    ),
    "own": SeedMail(mail("own", sender="me@demo.example", to="anna@docks.example", subject="My letter"), folder="sent"),
    "trashed": SeedMail(mail("trashed", sender="Anna <anna@docks.example>", subject="Gone"), folder="trash"),
}

CASES: dict[str, set[str]] = {
    '{field: from, operator: matches, value: "*@circuit.example"}': {"weekly", "fresh"},
    '{field: from, operator: matches, value: "*a@docks.*"}': {"invoice", "reminder", "moved"},
    "{field: from, operator: equals, value: ANNA@docks.example}": {"invoice", "reminder", "moved"},
    "{field: from, operator: in, value: [anna@docks.example, news@circuit.example]}": {
        "invoice",
        "reminder",
        "moved",
        "weekly",
        "fresh",
    },
    "{field: from, operator: contains, value: circuit}": {"weekly", "fresh"},
    "{field: cc, operator: equals, value: books@demo.example}": {"invoice"},
    "{field: subject, operator: contains, value: INVOICE}": {"invoice"},
    '{field: subject, operator: matches, value: "*voice*"}': {"invoice", "reminder"},
    "{field: from, operator: contains, value: grusse}": {"plain"},
    '{field: subject, operator: matches, value: "number 4?: *weekly*"}': {"weekly", "fresh"},
    "{field: subject, operator: equals, value: grüße aus köln}": {"accent"},
    "{field: subject, operator: contains, value: 請求書}": {"japanese"},
    "{field: body, operator: contains, value: Invoice}": {"invoice"},
    '{field: body, operator: matches, value: "*invoice*due*"}': {"reminder"},
    "{field: body, operator: contains, value: 資料}": {"japanese"},
    "{field: age_days, operator: greater_than, value: 79}": {"japanese", "moved"},
    "{field: age_days, operator: equals, value: 9}": {"weekly"},
    "{field: has_attachment, operator: equals, value: true}": {"invoice"},
    "{field: folder, operator: equals, value: Projects}": {"moved"},
    "{field: folder, operator: in, value: [Projects, trash]}": {"moved", "trashed"},
    '{not: {field: from, operator: matches, value: "*.example"}}': set(),
    "{field: age_days, operator: less_than, value: 5, not: true}, {field: from, operator: contains, value: anna}": {
        "reminder",
        "moved",
    },
}


def rule(conditions: str, *actions: str, safety: str = "{max_actions_per_run: 100}") -> str:
    done = ", ".join(actions or ("{type: star}",))
    return f"version: 1\nname: the rule\nconditions: [{conditions}]\nactions: [{done}]\nsafety: {safety}\n"


class ItsMailbox:
    """Hands out the rig's own mailbox."""

    def __init__(self, account: RigAccount) -> None:
        self._account = account

    def mailbox(self, _: Any) -> Any:
        return self._account.mailbox

    def transport(self, *_: Any) -> Any:
        return self._account.transport

    shared = transport


@contextmanager
def opened(rig: Rig, account: RigAccount) -> Iterator[Gateway]:
    """The rig closes its mailbox itself."""
    settings = build({}, home=rig.folder / "home")
    settings.home.mkdir()
    store = open_store(settings.home / "state.db", clock=Clock(NOW.timestamp, lambda: 1000.0, "boot"))
    accounts = Accounts([account.settings], ItsMailbox(account))
    try:
        yield Gateway(settings, store, accounts, Vault(settings.safety.vault), BY_HANDLE)
    finally:
        store.close()


def subjects(view: PlanView) -> set[str]:
    return {email.row.subject for email in view.results}


async def test_a_rule_finds_the_same_mails_everywhere(rig: Rig, account: RigAccount) -> None:
    await rig.seed(list(MAILS.values()))
    await rig.settle()
    titles = {key: subject_of(seed) for key, seed in MAILS.items()}
    with opened(rig, account) as gateway:
        wrong = {}
        for conditions, expected in CASES.items():
            view = await rules.create_rule(gateway, rule(conditions))
            assert isinstance(view, PlanView)
            found = {key for key, title in titles.items() if title in subjects(view)}
            if found != expected:
                wrong[conditions] = found ^ expected
        assert not wrong


def subject_of(seed: SeedMail) -> str:
    from email import message_from_bytes, policy

    return str(message_from_bytes(seed.raw, policy=policy.default)["Subject"])


async def test_a_run_does_what_was_planned_and_undo_puts_everything_back(rig: Rig, account: RigAccount) -> None:
    await rig.seed(list(MAILS.values()))
    await rig.settle()
    actions = ["{type: star}", "{type: mark_read}", "{type: delete}"]
    if account.capabilities.can_label:
        actions.insert(0, "{type: apply_label, label: news}")
    with opened(rig, account) as gateway:
        wanted = rule('{field: from, operator: matches, value: "*@circuit.example"}', *actions)
        view = await rules.create_rule(gateway, wanted)
        assert isinstance(view, PlanView)
        before = await places(account)

        ran = await running.run_rule(gateway, view.plan_id)

        await rig.settle()
        assert (ran.succeeded, ran.skipped, ran.failed) == (2, 0, 0), ran.results
        assert {one for one in await places(account) if one[1] == "weekly"} != before
        undone = await organise.undo(gateway, ran.operation_id)
        await rig.settle()
        assert (undone.succeeded, undone.failed) == (2, 0), undone.results
        assert await places(account) == before


async def places(account: RigAccount) -> set[tuple[str, str, bool, bool, tuple[str, ...]]]:
    """Where each mail of the newsletter is and how it is marked, asked past Postroom's service."""
    from postroom.model.query.tree import Correspondent, Query

    page = await account.mailbox.search(
        Query(Correspondent("from", "news@circuit.example"), anywhere=True), limit=50, offset=0
    )
    assert page.items
    return {(one.folder, one.subject, one.unread, one.starred, one.labels) for one in page.items}


async def test_what_a_provider_cannot_do_is_said_before_anything_is_planned(rig: Rig, account: RigAccount) -> None:
    with opened(rig, account) as gateway:
        for action in ("{type: move_folder, folder: Nowhere}", "{type: remove_label, label: never-made}"):
            with pytest.raises((InvalidRequest, Unsupported)):
                await rules.create_rule(gateway, rule("{field: age_days, operator: greater_than, value: 1}", action))
