"""The dialects, each in its own words."""

from __future__ import annotations

import re
from typing import Any

from mcp_types import CallToolResult
from tests.dialects.vault_rig import ids_in

from .adapter import Adapter, Refused, coded, rows_in
from .desk import LADDER


class Postroom(Adapter):
    unknown = r"NOT_FOUND: "
    unsupported = r"UNSUPPORTED: .*does not support|.*Call list_drafts"  # which is refused
    unknown_id = "e0000000000"

    def error_text(self, result: CallToolResult) -> str:
        return coded(result)

    async def list(self, folder: str = "INBOX") -> dict[str, Any]:
        return _ids(await self.data("list_emails", mailbox=folder))

    async def search(self, words: str) -> dict[str, Any]:
        return _ids(await self.data("search_emails", query=words))

    async def read(self, email_id: str) -> str:
        return str((await self.data("read_email", email_id=email_id))["untrusted"]["body"])

    async def read_original(self, email_id: str) -> str:
        found = await self.data("read_email", email_id=email_id, body_format="raw", max_chars=100_000)
        return str(found["untrusted"]["body"])

    async def draft(self, to: str, subject: str, body: str) -> str:
        return str((await self.data("create_draft", to=to, subject=subject, body=body))["draft_id"])

    async def draft_reply(self, email_id: str, body: str) -> str:
        return str((await self.data("draft_reply", email_id=email_id, body=body))["draft_id"])

    async def update_draft(self, draft_id: str, to: str, subject: str, body: str) -> None:
        await self.data("update_draft", draft_id=draft_id, to=to, subject=subject, body=body)

    async def reply(self, email_id: str, body: str) -> None:
        await self._sent("reply_email", email_id=email_id, body=body)

    async def send(self, to: str, subject: str, body: str) -> None:
        await self._sent("send_email", to=to, subject=subject, body=body)

    async def forward(self, email_id: str, to: str, comment: str) -> None:
        await self._sent("forward_email", email_id=email_id, to=to, comment=comment)

    async def _sent(self, tool: str, **arguments: Any) -> None:
        """What was refused is a result here, not an error: it says what became of the send."""
        found = await self.data(tool, **arguments, confirm=True)
        if found["status"] != "sent":
            raise Refused(found["message"])

    def approve(self, *_: str) -> None:
        self.desk.person.agrees = True

    async def mark(self, email_id: str, flag: str) -> None:
        await self.data("mark_email", email_id=email_id, flag=flag)

    async def label(self, email_id: str, label: str) -> None:
        await self.data("apply_label", email_id=email_id, label=label)

    async def move(self, email_id: str, folder: str) -> str:
        await self.data("move_email", email_id=email_id, to_mailbox=folder)
        return email_id

    async def delete(self, email_id: str) -> None:
        await self.data("delete_email", email_id=email_id)


def _ids(page: dict[str, Any]) -> dict[str, Any]:
    return {row["subject"]: row["email_id"] for row in page["results"]}


class Drafts(Adapter):
    unknown = r"Email with UID 424242 not found\.$"
    unsupported = r".*does not support"
    unknown_id = 424242

    async def list(self, folder: str = "INBOX") -> dict[str, Any]:
        return {row["subject"]: row["uid"] for row in (await self.data("list_emails", folder=folder))["results"]}

    async def search(self, words: str) -> dict[str, Any]:
        return {row["subject"]: row["uid"] for row in (await self.data("search_emails", query=words))["results"]}

    async def read(self, uid: int) -> str:
        return str((await self.data("read_email", uid=uid))["untrusted"]["body"])

    async def draft(self, to: str, subject: str, body: str) -> int:
        return int((await self.data("create_draft", to=to, subject=subject, body=body))["uid"])

    async def draft_reply(self, uid: int, body: str) -> int:
        return int((await self.data("draft_reply", uid=uid, body=body))["uid"])

    async def update_draft(self, uid: int, to: str, subject: str, body: str) -> None:
        await self.data("update_draft", uid=uid, to=to, subject=subject, body=body)


class Vault(Adapter):
    """An id is a message's and its thread's."""

    unknown = r"Error: Thread ID .* not found or no longer accessible\.$"
    unsupported = r"Error creating draft: .*does not support"

    @property
    def unknown_id(self) -> tuple[str, str]:
        return self.desk.account.missing_ref, self.desk.account.missing_ref

    async def search(self, words: str) -> dict[str, Any]:
        text = await self.text("search_email", query=words)
        subjects = re.findall(r"\| Subject: (.*) \| Date:", text)
        return dict(zip(subjects, ids_in(text), strict=True))

    async def draft(self, to: str, subject: str, body: str) -> str:
        text = await self.text("draft_email", to=to, subject=subject, body=body)
        found = re.fullmatch(r"Draft created successfully\. Draft ID: (\S.*)\. Review it in .*", text)
        assert found, text
        return found[1]

    async def reply(self, ids: tuple[str, str], body: str) -> None:
        text = await self.text("reply_email", message_id=ids[0], thread_id=ids[1], body=body)
        assert text.startswith("Reply sent successfully. Message ID: "), text

    async def send(self, to: str, subject: str, body: str) -> None:
        text = await self.text("send_email", to=to, subject=subject, body=body)
        assert text.startswith("Email sent successfully. Message ID: "), text

    def approve(self, what: str, target: Any) -> None:
        """By a file that a person writes: for a reply it names the thread, otherwise the recipient."""
        kind, key = ("email_reply", f'thread_id: "{target[1]}"') if what == "reply" else ("email_send", f"to: {target}")
        path = self.desk.vault / "Approved" / f"{what}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\ntype: {kind}\nstatus: approved\n{key}\n---\nGo ahead.\n")
        path.chmod(0o600)


class Graph(Adapter):
    unknown = r"NotFoundError: Die E-Mail wurde nicht gefunden"
    unsupported = r"UnsupportedError: .*does not support"
    confirm = False

    def error_text(self, result: CallToolResult) -> str:
        return coded(result)

    @property
    def unknown_id(self) -> str:
        return self.desk.account.missing_ref

    async def list(self, folder: str = "inbox") -> dict[str, Any]:
        return _message_ids(await self.data("list_emails", folder=folder))

    async def search(self, words: str) -> dict[str, Any]:
        return _message_ids(await self.data("search_emails", query=words))

    async def read(self, message_id: str) -> str:
        return str((await self.data("read_email", message_id=message_id))["body"])

    async def reply(self, message_id: str, body: str) -> None:
        await self._sent("reply_email", message_id=message_id, comment=body)

    async def send(self, to: str, subject: str, body: str) -> None:
        await self._sent("send_email", to=[to], subject=subject, body=body)

    async def forward(self, message_id: str, to: str, comment: str) -> None:
        await self._sent("forward_email", message_id=message_id, to=[to], comment=comment)

    async def _sent(self, tool: str, **arguments: Any) -> None:
        confirm, self.confirm = self.confirm, False
        found = await self.data(tool, **arguments, confirm=confirm)
        assert found["status"] == ("sent" if confirm else "preview"), found

    def approve(self, *_: Any) -> None:
        self.confirm = True


def _message_ids(page: dict[str, Any]) -> dict[str, Any]:
    return {row["subject"]: row["message_id"] for row in page["emails"]}


class Mailapi(Adapter):
    unknown = r"NOT_FOUND: Failed to read email: "
    unsupported = r"UNSUPPORTED: Failed to .*: .*does not support"

    @property
    def unknown_id(self) -> str:
        return self.desk.account.missing_ref

    async def list(self, folder: str = "INBOX") -> dict[str, Any]:
        return _listed(await self.text("list_emails", mailbox=folder))

    async def search(self, words: str) -> dict[str, Any]:
        return _listed(await self.text("search_emails", query=words))

    async def read(self, email_id: str) -> str:
        return await self.text("read_email", email_id=email_id)

    async def send(self, to: str, subject: str, body: str) -> None:
        await self.text("send_email", to=[to], subject=subject, body=body)

    def approve(self, *_: Any) -> None:
        self.desk.person.agrees = True

    async def mark(self, email_id: str, flag: str) -> None:
        assert await self.text("mark_email", email_id=email_id, flag=flag) == f"Email marked as {flag}."

    async def move(self, email_id: str, folder: str) -> str:
        text = await self.text("move_email", email_id=email_id, to_mailbox=folder)
        found = re.fullmatch(rf"Email moved to {folder}\.(?: Its ID is now (.*)\.)?", text)
        assert found, text
        return found[1] or email_id

    async def delete(self, email_id: str) -> None:
        assert (await self.text("delete_email", email_id=email_id)).startswith("Email moved to Trash.")


def _listed(text: str) -> dict[str, Any]:
    return rows_in(text, r"^   Subject: (.*)\n   Date: .*\n   Preview: .*\n   ID: (.*)$")


class Intentmail(Adapter):
    unknown = r"NOT_FOUND: "
    unsupported = r"INVALID_REQUEST: .*does not support"
    no_folder = r"NOT_FOUND: There is no (such )?folder"  # a folder is part of the query

    @property
    def unknown_id(self) -> str:
        return self.desk.account.missing_ref

    def error_text(self, result: CallToolResult) -> str:
        return coded(result)

    async def list(self, folder: str = "INBOX") -> dict[str, Any]:
        return await self.search(f'in:"{folder}"')

    async def search(self, words: str) -> dict[str, Any]:
        page = await self.data("search_messages", query=words)
        return {row["subject"]: row["message_id"] for row in page["results"]}

    async def read(self, message_id: str) -> str:
        return str((await self.data("get_message", message_id=message_id))["body_text"])

    async def thread(self, message_id: str) -> list[str]:
        thread_id = (await self.data("get_message", message_id=message_id))["thread_id"]
        found = await self.data("get_thread", thread_id=thread_id)
        return [one["subject"] for one in found["messages"]["results"]]

    async def reply(self, message_id: str, body: str) -> None:
        await self._sent(self.desk.you, LADDER, body, in_reply_to=message_id)

    async def send(self, to: str, subject: str, body: str) -> None:
        await self._sent(to, subject, body)

    async def _sent(self, to: str, subject: str, body: str, **more: str) -> None:
        found = await self.data("send_message", to=[to], subject=subject, body_text=body, **more)
        if found["status"] != "sent":
            raise Refused(found["message"])

    def approve(self, *_: Any) -> None:
        self.desk.person.agrees = True

    async def label(self, message_id: str, label: str) -> None:
        assert (await self.data("apply_label", message_ids=[message_id], label=label))["success"]

    async def move(self, message_id: str, folder: str) -> str:
        found = await self.data("move_message", message_id=message_id, destination=folder)
        return str(found["results"][0].get("new_message_id", message_id))

    async def plan(self, rule_yaml: str) -> list[str]:
        """Of a dry run, and of the saved rule: the same."""
        made = [await self.data("create_rule", rule_yaml=rule_yaml)]
        rule = await self.data("create_rule", rule_yaml=rule_yaml, dry_run=False)
        made.append(await self.data("run_rule_plan", rule_id=rule["rule_id"]))
        subjects = [[one["subject"] for one in plan["messages"]["results"]] for plan in made]
        assert subjects[0] == subjects[1]
        return subjects[0]

    async def identities(self) -> list[str]:
        return [one["email"] for one in (await self.data("list_identities"))["results"]]

    async def alias(self, email: str) -> str:
        return str((await self.data("create_alias", email=email, name="Sales"))["email"])

    async def capabilities(self) -> dict[str, Any]:
        return await self.data("get_capabilities")


ADAPTERS = {
    "postroom": Postroom,
    "drafts": Drafts,
    "vault": Vault,
    "graph": Graph,
    "mailapi": Mailapi,
    "intentmail": Intentmail,
}
