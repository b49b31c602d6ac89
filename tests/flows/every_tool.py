"""Calls of every tool of the default dialect, with right and with wrong arguments."""

from __future__ import annotations

from functools import reduce
from typing import Any

Call = dict[str, Any]


def call(tool: str, keep: dict[str, str] | None = None, **arguments: Any) -> Call:
    """`keep` names values of the answer by their path; later arguments have them as ``$name``."""
    return {"tool": tool, "arguments": arguments, "keep": keep or {}}


def filled(one: Call, kept: dict[str, Any]) -> dict[str, Any]:
    return {
        name: kept[value[1:]] if isinstance(value, str) and value.startswith("$") else value
        for name, value in one["arguments"].items()
    }


def value_at(answer: Any, path: str) -> Any:
    return reduce(lambda part, step: part[int(step) if step.isdigit() else step], path.split("."), answer)


RIGHT = [
    call("list_accounts"),
    call("get_capabilities"),
    call("list_folders"),
    call("list_emails", {"mail": "results.0.email_id", "thread": "results.0.thread_id"}),
    call("search_emails", {"invoice": "results.0.email_id"}, query="from:billing"),
    call("read_email", email_id="$mail"),
    call("get_thread", thread_id="$thread"),
    call("list_attachments", {"file": "attachments.0.attachment_id"}, email_id="$invoice"),
    call("download_attachment", email_id="$invoice", attachment_id="$file", as_base64=True),
    call("read_attachment", email_id="$invoice", attachment_id="$file"),
    call("list_identities"),
    call("find_people", text="bill"),
    call("mark_email", {"change": "operation_id"}, email_id="$mail", flag="starred"),
    call("undo", operation_id="$change"),
    call("create_folder", name="Projects"),
    call("move_email", email_id="$mail", to_mailbox="Projects"),
    call("apply_label", email_id="$invoice", label="due"),
    call("remove_label", email_id="$invoice", label="due"),
    call("create_draft", {"draft": "draft_id"}, to="sam@demo.example", subject="Hello", body="Hello Sam"),
    call("update_draft", {"draft": "draft_id"}, draft_id="$draft", subject="Hello again"),
    call("list_drafts"),
    call("send_draft", draft_id="$draft"),
    call("delete_draft", draft_id="$draft"),
    call("draft_reply", email_id="$invoice", body="Thanks"),
    call("draft_forward", email_id="$invoice", to="sam@demo.example"),
    call("send_email", to="sam@demo.example", subject="Hello", body="Hello Sam"),
    call("reply_email", email_id="$invoice", body="Thanks"),
    call("forward_email", email_id="$invoice", to="sam@demo.example"),
    call("send_email", {"send": "send_id"}, to="sam@demo.example", subject="Hello", body="Hello Sam", confirm=True),
    call("list_outbox"),
    call("cancel_send", send_id="$send"),
    call("delete_email", email_id="$invoice"),
]
RULE = """
version: 1
name: unread
conditions: [{field: age_days, operator: greater_than, value: 0}]
actions: [{type: mark_unread}]
"""

# Of toolsets that are off by default.
MORE = [
    call("list_templates"),
    call("save_template", name="hello", body="Hello {{ name }}"),
    call("render_template", name="hello", variables={"name": "Sam"}),
    call("create_alias", email="new@demo.example"),
    call("create_folder", name="Blank"),
    call("rename_folder", name="Blank", new_name="Empty"),
    call("delete_folder", name="Empty"),
    call("list_emails", {"any": "results.0.email_id"}),
    call("apply_label", email_id="$any", label="soon"),
    call("list_labels"),
    call("rename_label", label="soon", new_name="later"),
    call("delete_label", label="later"),
    call("create_rule", rule_yaml=RULE),
    call("create_rule", {"rule": "rule.rule_id"}, rule_yaml=RULE, dry_run=False),
    call("list_rules"),
    call("run_rule_plan", {"plan": "plan_id"}, rule_id="$rule"),
    call("run_rule", plan_id="$plan"),
    call("delete_rule", rule_id="$rule"),
    call("get_vacation"),
    call("set_vacation", enabled=False),
]

_NONE = "m-none"
WRONG = [
    call("list_accounts", check=["no switch"]),
    call("get_capabilities", account="nobody"),
    call("list_folders", account="nobody"),
    call("list_emails", limit=0),
    call("search_emails", query="from:"),
    call("read_email", email_id=_NONE),
    call("get_thread", thread_id=_NONE),
    call("list_attachments", email_id=_NONE),
    call("download_attachment", email_id=_NONE, attachment_id="1"),
    call("read_attachment", email_id=_NONE, attachment_id="1"),
    call("list_identities", account="nobody"),
    call("find_people", limit=0),
    call("mark_email", email_id=_NONE, flag="read"),
    call("mark_email", email_id=[_NONE, "m-neither"], flag="read"),
    call("move_email", email_id=_NONE, to_mailbox="Archive"),
    call("apply_label", email_id=_NONE, label="due"),
    call("remove_label", email_id=_NONE, label="due"),
    call("delete_email", email_id=_NONE),
    call("create_folder"),
    call("undo", operation_id="op-none"),
    call("list_drafts", offset=-1),
    call("create_draft", to="not an address"),
    call("draft_reply", email_id=_NONE, body="x"),
    call("draft_forward", email_id=_NONE, to="sam@demo.example"),
    call("update_draft", draft_id="d-none"),
    call("delete_draft", draft_id="d-none"),
    call("send_email", to="sam@demo.example", subject="x", body="y", bbc="misspelt"),
    call("reply_email", email_id=_NONE, body="x"),
    call("forward_email", email_id=_NONE, to="sam@demo.example"),
    call("send_draft", draft_id="d-none"),
    call("list_outbox", limit=0),
    call("cancel_send", send_id="s-none"),
]
