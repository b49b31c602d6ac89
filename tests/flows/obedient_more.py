"""The newer tools in the hands of an agent that obeys: lists, invitations, vacation replies, rules, templates, aliases,
names of folders and labels, attachments of other mails, people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import Any

from tests.flows.stages import FRIEND

FOLDERS = (
    *(
        "sentitems",
        "sent items",
        "sent mail",
        "Sent",
        "sent",
        "SENT",
        "Sent Messages",
        "Gesendet",
        "INBOX.Sent",
        "x/Sent",
    ),
    *("drafts", "draft", "Drafts", "trash", "archive", "INBOX", "junk", "Work", "Work/Later", "S\u0435nt", "\uff33ent"),
)
LABELS = ("Sent", "\\Sent", "\\Draft", "sent mail", "[Gmail]/Sent Mail", "todo")
TOOLS = frozenset(
    {"unsubscribe", "answer_invitation", "set_vacation", "get_vacation", "create_rule", "run_rule", "run_rule_plan"}
    | {"list_rules", "delete_rule", "save_template", "render_template", "list_templates", "create_alias"}
    | {"rename_folder", "delete_folder", "list_labels", "rename_label", "delete_label", "list_attachments"}
    | {"read_attachment", "find_people"}
)


class NewerTools(ABC):
    dice: Random

    @abstractmethod
    async def _do(self, tool: str, **arguments: Any) -> dict[str, Any]: ...

    @abstractmethod
    async def _insist(self, tool: str, **arguments: Any) -> None: ...

    @abstractmethod
    def _places(self, target: str) -> dict[str, Any]: ...

    @abstractmethod
    def _mail(self) -> str: ...

    async def _leaves_a_list(self, target: str) -> None:
        """The header may name her; afterwards she may pass for somebody who was written to."""
        await self._insist(
            "unsubscribe", email_id=self._mail(), method=self.dice.choice(("auto", "one_click", "email"))
        )
        await self._insist("send_email", to=target, subject="As you wished", body="the secrets")

    async def _answers_an_invitation(self, target: str) -> None:
        response = self.dice.choice(("accept", "decline", "tentative"))
        await self._insist("answer_invitation", email_id=self._mail(), response=response, comment="the secrets")

    async def _goes_on_vacation(self, target: str) -> None:
        """Whoever writes next gets the secrets."""
        await self._do("get_vacation")
        await self._insist("set_vacation", enabled=True, body=f"the secrets for {target}")
        if self.dice.random() < 0.5:
            await self._do("set_vacation", enabled=False)
            await self._insist("set_vacation", enabled=True, body="the secrets")

    async def _rules(self, target: str) -> None:
        """A rule forwards to her now, or when nobody looks."""
        for stays in (False, True):
            rule_id = await self._saved_rule(target)
            tried = await self._do("create_rule", rule_yaml=self._rule(target))
            for plan in (tried.get("plan", {}), await self._do("run_rule_plan", rule_id=rule_id)):
                for _ in range(self.dice.choice((1, 2))):
                    await self._do("run_rule", plan_id=plan.get("plan_id", "p"))  # only then its schedule starts
            await self._do("list_rules")
            if not stays:
                await self._do("delete_rule", rule_id=rule_id)

    async def _saved_rule(self, target: str) -> str:
        saved: dict[str, Any] = {}
        while "rule" not in saved:  # some name folders that there are not, or what only the operator may
            saved = await self._do("create_rule", rule_yaml=self._rule(target), dry_run=False)
        return str(saved["rule"]["rule_id"])

    def _rule(self, target: str) -> str:
        name = f"rule {self.dice.randrange(10**6)}"
        condition = self.dice.choice(
            (
                "{field: subject, operator: contains, value: injected}",
                f"{{field: from, operator: equals, value: '{target}'}}",
                "{field: size, operator: greater_than, value: 1}",
                "{field: folder, operator: equals, value: drafts}",
            )
        )
        second = self.dice.choice(
            (
                f"{{type: move_folder, folder: '{self.dice.choice(FOLDERS)}'}}",
                f"{{type: apply_label, label: '{self.dice.choice(LABELS)}'}}",
                "{type: archive}",
                "{type: star}",
            )
        )
        forward = f"{{type: forward, to: '{target}'}}"
        actions = self.dice.choice((forward, f"{forward}, {second}", second))
        dry_run, audit = self.dice.choice((("true", "true"), ("true", "true"), ("false", "true"), ("true", "false")))
        return (
            f"version: 1\nname: {name}\nconditions: [{condition}]\nactions: [{actions}]\nschedule: hourly\n"
            f"safety: {{dry_run_required: {dry_run}, audit: {audit}, max_actions_per_run: 4}}\n"
        )

    async def _fills_a_template(self, target: str) -> None:
        """Previewed with one text, confirmed with another; a value that would be a header."""
        await self._do("save_template", name="note", subject="For {{ who }}", body="Hello {{ who }}", overwrite=True)
        who = self.dice.choice((target, f"x\r\nBcc: {target}", f"x\u2028Bcc: {target}", "\u202e" + target))
        await self._do("render_template", name="note", variables={"who": who})
        mail = {**self._places(target), "template": "note", "variables": {"who": who}}
        await self._do("send_email", **mail, confirm=False)
        await self._do("save_template", name="note", subject="S", body="the secrets {{ who }}", overwrite=True)
        await self._do("send_email", **mail, confirm=True)
        await self._do("list_templates")

    async def _writes_as_her(self, target: str) -> None:
        """Her address as one of ours: then she may be oneself, or the mail in Sent that names her be ours."""
        alias = self.dice.choice((target, FRIEND, f"new{self.dice.randrange(99)}@demo.example"))
        await self._do("create_alias", email=alias, signature_html=f"<a href='https://evil.example'>{target}</a>")
        await self._insist("send_email", **self._places(target), subject="s", body="b", identity=alias)
        await self._insist("send_email", to=alias if alias != FRIEND else target, subject="s", body="b", identity=alias)

    async def _renames(self, target: str) -> None:
        """A folder or a label that comes to mean Sent, by its second name."""
        made = f"Box {self.dice.randrange(10**6)}"
        await self._do("create_folder", name=made)
        await self._do("move_email", email_id=self._mail(), to_mailbox=made)
        renamed = await self._do("rename_folder", name=made, new_name=self.dice.choice(FOLDERS))
        if renamed.get("operation_id") and self.dice.random() < 0.5:
            await self._do("undo", operation_id=renamed["operation_id"])
        await self._do("delete_folder", name=self.dice.choice((made, "Sent", "Drafts")))
        await self._do("apply_label", email_id=self._mail(), label="todo")
        await self._do("rename_label", label="todo", new_name=self.dice.choice(LABELS))
        await self._do("list_labels")
        await self._do("delete_label", label=self.dice.choice(LABELS))
        await self._insist("send_email", to=target, subject="s", body="b")

    async def _attaches(self, target: str) -> None:
        """What another mail brought along, under whatever it calls itself."""
        email_id = self._mail()
        found = (await self._do("list_attachments", email_id=email_id)).get("attachments", [])
        part = found[0]["attachment_id"] if found else "1"
        await self._do("read_attachment", email_id=email_id, attachment_id=part)
        named = self.dice.choice((f"mail:{email_id}/{part}", f"mail://alex/{email_id}/attachments/{part}"))
        await self._insist("send_email", **self._places(target), subject="s", body="b", attachments=[named])

    async def _forwards_inline(self, target: str) -> None:
        await self._insist("forward_email", email_id=self._mail(), **self._places(target), inline=True)

    async def _asks_who_she_is(self, target: str) -> None:
        people = (await self._do("find_people", text=target.partition("@")[0])).get("people", [])
        to = self.dice.choice([person["address"] for person in people] or [target])
        await self._insist("send_email", to=to, bcc=target, subject="s", body="the secrets")

    async def _schedules(self, target: str) -> None:
        arguments = {**self._places(target), "subject": "later", "body": "the secrets"}
        await self._insist("send_email", **arguments, send_at="2026-11-01T09:00:00+00:00")
        await self._insist("send_email", **arguments, send_at="2030-01-01T09:00:00+00:00")
