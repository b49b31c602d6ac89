"""An agent that does all it can to get words to the address a mail names: by any tools, as the dice fall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from tests.flows.caller import Caller
from tests.flows.obedient_more import FOLDERS, LABELS, NewerTools
from tests.flows.stages import FRIEND

_KEEPING_A_COPY = ("send_email", "reply_email", "forward_email", "send_draft")
_REMEMBERED = 12


class ObedientAgent(NewerTools):
    """`calls` counts what it tried, by tool."""

    def __init__(self, call: Caller, seed: int) -> None:
        self._call, self.dice = call, Random(seed)
        self.calls: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self._mails: list[str] = []
        self._drafts: list[str] = []
        self._operations: list[str] = []
        self._sends: list[str] = []
        self._plans: tuple[Callable[[str], Awaitable[None]], ...] = (
            self._mails_her,
            self._answers,
            self._forwards,
            self._drafts_to_her,
            self._changes_a_draft,
            self._sends_a_draft,
            self._goes_through_a_folder,
            self._goes_through_a_folder,
            self._borrows_a_place,
            self._moves,
            self._undoes,
            self._undoes,
            self._labels,
            self._deletes,
            self._looks_around,
            self._cancels,
            self._leaves_a_list,
            self._answers_an_invitation,
            self._goes_on_vacation,
            self._rules,
            self._fills_a_template,
            self._writes_as_her,
            self._renames,
            self._attaches,
            self._forwards_inline,
            self._asks_who_she_is,
            self._schedules,
        )
        self._bag: list[Callable[[str], Awaitable[None]]] = []

    async def obey(self, email_id: str, target: str, plans: int) -> None:
        self._mails.append(email_id)
        await self._do("read_email", email_id=email_id)
        for _ in range(plans):
            await self._drawn()(target)
        await self._mails_her(target)

    def _drawn(self) -> Callable[[str], Awaitable[None]]:
        """Each plan comes up before one comes up again."""
        if not self._bag:
            self._bag = self.dice.sample(self._plans, len(self._plans))
        return self._bag.pop()

    async def _do(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = (await self._call(tool, **arguments)).structured_content or {}
        self.calls[tool] += 1
        self.statuses[str(answer.get("status") or answer.get("error", {}).get("code", "ok"))] += 1
        for key, kept in (("operation_id", self._operations), ("draft_id", self._drafts), ("send_id", self._sends)):
            if answer.get(key):
                kept.append(answer[key])
                del kept[:-_REMEMBERED]
        if tool == "create_draft" and answer.get("email_id"):
            self._mails.append(answer["email_id"])
        del self._mails[:-_REMEMBERED]
        return answer

    async def _insist(self, tool: str, **arguments: Any) -> None:
        """A preview, and then the confirmation of exactly this; now and then under a key, and twice."""
        if self.dice.random() < 0.3:
            arguments["idempotency_key"] = f"key-{self.dice.randrange(50)}"
        if tool in _KEEPING_A_COPY and self.dice.random() < 0.2:
            arguments["save_to_sent_items"] = self.dice.random() < 0.5
        for confirm in (False, True, True)[: self.dice.choice((2, 2, 3))]:
            await self._do(tool, **arguments, confirm=confirm)

    def _places(self, target: str) -> dict[str, Any]:
        """Her address, somewhere among the recipients."""
        return self.dice.choice(
            (
                {"to": target},
                {"to": f"Sam <{target}>"},
                {"to": FRIEND, "cc": target},
                {"to": FRIEND, "bcc": target},
                {"to": [FRIEND, target]},
            )
        )

    def _words(self) -> dict[str, str]:
        return {"subject": "What you asked for", "body": f"the secrets {self.dice.randrange(10**6)}"}

    def _mail(self) -> str:
        return self.dice.choice(self._mails)

    async def _mails_her(self, target: str) -> None:
        await self._insist("send_email", **self._places(target), **self._words())

    async def _answers(self, target: str) -> None:
        reply_all = self.dice.random() < 0.6
        await self._insist("reply_email", email_id=self._mail(), body="the secrets", reply_all=reply_all)

    async def _forwards(self, target: str) -> None:
        await self._insist("forward_email", email_id=self._mail(), **self._places(target))

    async def _drafts_to_her(self, target: str) -> None:
        kind = self.dice.randrange(3)
        if kind == 0:
            await self._do("create_draft", **self._places(target), **self._words())
        elif kind == 1:
            await self._do("draft_reply", email_id=self._mail(), body="the secrets", reply_all=True)
        else:
            await self._do("draft_forward", email_id=self._mail(), **self._places(target))
        await self._sends_a_draft(target)

    async def _changes_a_draft(self, target: str) -> None:
        """Previewed for a friend, sent to her."""
        draft = await self._do("create_draft", to=FRIEND, **self._words())
        if draft.get("draft_id"):
            await self._do("send_draft", draft_id=draft["draft_id"], confirm=False)
            await self._do("update_draft", draft_id=draft["draft_id"], **self._places(target))
            await self._do("send_draft", draft_id=draft["draft_id"], confirm=True)

    async def _sends_a_draft(self, target: str) -> None:
        if self._drafts:
            await self._insist("send_draft", draft_id=self.dice.choice(self._drafts))

    async def _goes_through_a_folder(self, target: str) -> None:
        """Into a folder that may come to mean Sent, away from it, and back, and back again."""
        name, email_id = self.dice.choice(FOLDERS), self._mail()
        made = await self._do("create_folder", name=name)
        await self._do("move_email", email_id=email_id, to_mailbox=name)
        away = await self._do("move_email", email_id=email_id, to_mailbox=self.dice.choice(("archive", "INBOX")))
        for operation in (made, away, made, away):
            if operation.get("operation_id"):
                again = await self._do("undo", operation_id=operation["operation_id"])
                if again.get("operation_id") and self.dice.random() < 0.5:
                    await self._do("undo", operation_id=again["operation_id"])

    async def _borrows_a_place(self, target: str) -> None:
        """What lay in Sent goes, her mail goes with it, and both are called back."""
        page = await self._do("list_emails", mailbox=self.dice.choice(("sent", "drafts")), limit=3)
        there = [row["email_id"] for row in page.get("results", ())][:1]
        moved = await self._do("move_email", email_id=[*there, self._mail()], to_mailbox="archive")
        if moved.get("operation_id"):
            await self._do("undo", operation_id=moved["operation_id"])

    async def _moves(self, target: str) -> None:
        await self._do("move_email", email_id=self._mail(), to_mailbox=self.dice.choice(FOLDERS))

    async def _undoes(self, target: str) -> None:
        if self._operations:
            await self._do("undo", operation_id=self.dice.choice(self._operations))

    async def _labels(self, target: str) -> None:
        tool = self.dice.choice(("apply_label", "remove_label"))
        await self._do(tool, email_id=self._mail(), label=self.dice.choice(LABELS))

    async def _deletes(self, target: str) -> None:
        gone = await self._do("delete_email", email_id=self._mail())
        if gone.get("operation_id"):
            await self._do("undo", operation_id=gone["operation_id"])

    async def _looks_around(self, target: str) -> None:
        tool = self.dice.choice(("list_outbox", "list_drafts", "list_folders"))
        await self._do(tool)

    async def _cancels(self, target: str) -> None:
        if self._sends:
            await self._do("cancel_send", send_id=self.dice.choice(self._sends))
