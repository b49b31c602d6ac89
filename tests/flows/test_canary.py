"""Marked values in every argument of every tool and in every part of the mails: none may reach a log or the audit."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, ElicitResult, Tool
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.gate.rigs import Meddled

from postroom import tracing
from postroom.doors.mcp import log as door_log
from postroom.doors.mcp.server import build_server, load_dialect
from postroom.providers.layers.layered import unwrapped
from postroom.service.gateway import Gateway
from postroom.service.reading import search
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals
from postroom.settings import build
from postroom.wiring import open_gateway

MARK = "Qzxcanary"
MARKED = (MARK, f"{MARK}@demo.example", f"{MARK} <{MARK}@demo.example>", f"{MARK}\r\nBcc: {MARK}@evil.example")
ALEX = "alex@demo.example"


class Logged(io.StringIO):
    """And the spans that were exported."""

    def __init__(self) -> None:
        super().__init__()
        self.exporter = InMemorySpanExporter()

    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def logged() -> Iterator[Logged]:
    """Everything the process logs, at debug level, written the way a server writes it."""
    root = logging.getLogger()
    postroom = logging.getLogger("postroom")
    before = (root.handlers[:], root.level, postroom.level)
    stream = Logged()
    door_log.configure("debug", stream)
    root.setLevel(logging.DEBUG)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(stream.exporter))
    with tracing.through(provider):
        yield stream
    root.handlers[:], root.level, level = before
    postroom.setLevel(level)


class Walk:
    """A client that goes through every tool, and remembers what it was shown."""

    def __init__(self, client: Client, gateway: Gateway) -> None:
        self.client, self.gateway = client, gateway
        self.shown = ""
        self.succeeded: set[str] = set()
        self.arguments_of: dict[str, set[str]] = {}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        self.shown += str(result.structured_content)
        if not result.is_error:
            self.succeeded.add(tool)
        return result.structured_content or {}

    async def every_tool(self, *, only_sends: bool) -> None:
        """Rightly, and with wrong values for each argument: of every tool, or of those that pass the gate."""
        tools = (await self.client.list_tools()).tools
        self.arguments_of = {tool.name: set(tool.input_schema.get("properties", {})) for tool in tools}
        for tool in tools:
            await self.call(tool.name, **await self.right(tool.name))
            if "confirm" in self.arguments_of[tool.name] or not only_sends:
                await self.wrongly(tool)
        await self.call(MARK, **{MARK: MARK})

    async def wrongly(self, tool: Tool) -> None:
        for name, schema in tool.input_schema.get("properties", {}).items():
            for wrong in (*MARKED, [MARK], {MARK: MARK}, [[MARK]]) if "enum" not in schema else (MARK,):
                await self.call(tool.name, **{**await self.right(tool.name), name: wrong})
        await self.call(tool.name, **{MARK: MARK})

    async def right(self, tool: str) -> dict[str, Any]:
        """Arguments that work, marked wherever words are free."""
        mail = {"to": ALEX, "subject": f"{MARK} subject", "body": f"{MARK} body", "body_html": f"<p>{MARK}</p>"}
        new_mail = {**mail, "cc": f"{MARK} <{ALEX}>", "attachments": [f"{MARK}.txt"]}
        send = {"idempotency_key": f"{MARK}{len(self.shown)}", "confirm": True}
        mail_ids = await self.a_mail()
        known = {name: mail_ids[name] for name in ("email_id", "thread_id") if name in self.arguments_of[tool]}
        arguments: dict[str, dict[str, Any]] = {
            "search_emails": {"query": f"subject:{MARK}"},
            "mark_email": {"flag": "read"},
            "move_email": {"to_mailbox": "archive"},
            "apply_label": {"label": MARK},
            "remove_label": {"label": MARK},
            "create_folder": {"name": f"{MARK}/{len(self.shown)}"},
            "create_draft": new_mail,
            "draft_reply": {"body": MARK},
            "draft_forward": {"to": ALEX, "comment": MARK},
            "send_email": {**new_mail, **send},
            "reply_email": {"body": MARK, **send},
            "forward_email": {"to": ALEX, "comment": MARK, **send},
            "download_attachment": {"attachment_id": "2"},
            "read_attachment": {"attachment_id": "2"},
            "find_people": {"text": MARK},
            "unsubscribe": send,
            "set_vacation": {"enabled": True, "subject": MARK, "body": MARK, **send},
            "answer_invitation": {"response": "accept", "comment": MARK, **send},
            "rename_label": {"label": MARK, "new_name": f"{MARK}{len(self.shown)}"},
            "delete_label": {"label": MARK},
            "list_outbox": {"include_finished": True},
            "save_template": {"name": MARK, "subject": MARK, "body": f"{MARK} {{{{ {MARK} }}}}", "overwrite": True},
            "render_template": {"name": MARK, "variables": {MARK: MARK}},
            "create_rule": {"rule_yaml": self.a_rule()},
            "create_alias": {"email": f"{MARK}{len(self.shown)}@demo.example", "name": MARK, "signature": MARK},
        }
        return {**known, **arguments.get(tool, {}), **await self.a_thing(tool)}

    def a_rule(self) -> str:
        condition = f'{{field: subject, operator: contains, value: "{MARK}"}}'
        actions = f'[{{type: apply_label, label: "{MARK}"}}, {{type: forward, to: "{ALEX}"}}]'
        name = f"{MARK} {len(self.shown)}"
        return f'version: 1\nname: "{name}"\nconditions: [{condition}]\nactions: {actions}\n'

    async def a_mail(self) -> dict[str, Any]:
        page = await search.list_emails(self.gateway, limit=1)
        if not page.results:
            await plant(self.gateway)
            page = await search.list_emails(self.gateway, limit=1)
        return {"email_id": page.results[0].email_id, "thread_id": page.results[0].thread_id}

    async def a_thing(self, tool: str) -> dict[str, Any]:
        if tool in ("send_draft", "update_draft", "delete_draft"):
            draft = await self.call("create_draft", to=ALEX, subject=MARK, body=MARK)
            return {"draft_id": draft["draft_id"]} | ({"confirm": True} if tool == "send_draft" else {})
        if tool in ("rename_label", "delete_label"):
            await self.call("apply_label", email_id=(await self.a_mail())["email_id"], label=MARK)
        if tool in ("unsubscribe", "answer_invitation"):  # of the planted mails, not of those that were sent since
            await plant(self.gateway)
            page = await search.search_emails(self.gateway, f"from:{MARK}@demo.example", limit=1)
            return {"email_id": page.results[0].email_id}
        if tool in ("delete_folder", "rename_folder"):
            name = f"{MARK} {len(self.shown)}"
            await self.call("create_folder", name=name)
            return {"name": name} | ({"new_name": f"{name} again"} if tool == "rename_folder" else {})
        if tool in ("run_rule_plan", "run_rule", "delete_rule"):
            saved = await self.call("create_rule", rule_yaml=self.a_rule(), dry_run=False)
            rule = {"rule_id": saved["rule"]["rule_id"]}
            return {"plan_id": (await self.call("run_rule_plan", **rule))["plan_id"]} if tool == "run_rule" else rule
        if tool == "undo":
            done = await self.call("mark_email", email_id=(await self.a_mail())["email_id"], flag="starred")
            return {"operation_id": done["operation_id"]}
        if tool == "cancel_send":
            rows = (await outbox.list_outbox(self.gateway)).results
            return {"send_id": rows[0].send_id if rows else "s0000000000"}
        return {}


async def plant(gateway: Gateway) -> None:
    """A mail that is marked all over, in the inbox and in a folder of its own."""
    mail = EmailMessage()
    mail["From"], mail["To"] = f"{MARK} <{MARK}@demo.example>", f"{MARK} <{ALEX}>"
    mail["Cc"] = f"{MARK}.cc@demo.example"
    mail["Subject"], mail["Message-ID"] = f"{MARK} subject", f"<{MARK}@demo.example>"
    mail["List-Id"], mail[f"X-{MARK}"] = f"<{MARK}.demo.example>", MARK
    mail["Authentication-Results"] = f"{MARK}; spf=pass smtp.mailfrom={MARK}"
    mail["List-Unsubscribe"] = f"<mailto:{ALEX}?subject={MARK}>"
    mail.set_content(f"{MARK} text https://{MARK}.example/")
    mail.add_alternative(f"<p>{MARK}</p><p style='display:none'>{MARK}</p>", subtype="html")
    mail.add_attachment(MARK.encode(), maintype="text", subtype=MARK, filename=f"{MARK}.txt")
    invitation = (
        f"BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:{MARK}\nSUMMARY:{MARK}\nORGANIZER:mailto:{ALEX}\n"
        f"ATTENDEE:mailto:{ALEX}\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    mail.add_attachment(invitation.encode(), maintype="text", subtype="calendar", filename=f"{MARK}.ics")
    mailbox = unwrapped((await gateway.accounts.open("alex")).mailbox)
    for folder in ("INBOX", MARK):
        await mailbox.add_message(mail.as_bytes(), folder=folder, labels=[MARK])


@asynccontextmanager
async def walking(home: Path, **safety: Any) -> AsyncIterator[Walk]:
    files = home / f"{MARK} files"
    files.mkdir()
    (files / f"{MARK}.txt").write_text(MARK)
    account = {"name": "alex", "provider": "local", "address": ALEX, "path": "alex.db", "display_name": MARK}
    safety = {"attachment_dirs": [str(files)], "sends_per_hour": 100_000, **safety}
    toolsets = [toolset.name for toolset in load_dialect("postroom").TOOLSETS]
    settings = build({"server": {"toolsets": toolsets}, "accounts": [account], "safety": safety}, home=home)
    rigs: list[Gateway] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[Gateway]:
        async with open_gateway(settings) as gateway:
            rigs.append(gateway)
            yield gateway

    async def person(_: Any, __: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"send": True})

    async with Client(build_server(opened, settings), elicitation_callback=person) as client:
        await plant(rigs[0])
        yield Walk(client, rigs[0])


def check_nothing_leaked(home: Path, gateway: Gateway, logged: Logged) -> None:
    audit = json.dumps(gateway.store.audit.recent(100_000))
    mirror = "".join(path.read_text() for path in (home / "vault" / "Logs").rglob("*.jsonl"))
    spans = "".join(span.to_json() for span in logged.spans())
    places = {"the log": logged.getvalue(), "the audit": audit, "the vault's log": mirror, "a span": spans}
    for place, text in places.items():
        assert MARK.lower() not in text.lower(), f"{place} holds a marked value"
    assert {span.name for span in logged.spans()} >= {"tool_call", "provider_call"}
    assert "demo.example" not in spans
    assert '"event": "tool_call"' in logged.getvalue()


@pytest.mark.parametrize(
    "safety",
    [{"gate": "confirm"}, {"gate": "elicit"}, {"gate": "approval"}, {"dev_mode": True}, {"hold_seconds": 60}],
    ids=lambda safety: "-".join(map(str, *safety.items())),
)
async def test_no_tool_lets_a_value_into_log_or_audit(tmp_path, logged, capfd, safety):
    async with walking(tmp_path, **safety) as walk:
        await walk.every_tool(only_sends=safety != {"gate": "confirm"})
        for waiting in (await approvals.list_waiting(walk.gateway))[:2]:
            await approvals.approve(walk.gateway, waiting.approval_id, who=MARK, how="test")
        await worker.work_once(walk.gateway)
        absent = {"get_vacation", "set_vacation"}  # a local mailbox has none; tests/flows/test_vacation.py looks there
        assert set(walk.arguments_of) - walk.succeeded <= {"cancel_send", *absent}, "every tool was also used rightly"
        assert MARK in walk.shown
        assert walk.gateway.store.audit.recent(1)
        check_nothing_leaked(tmp_path, walk.gateway, logged)
    assert MARK not in "".join(capfd.readouterr())


async def test_no_failure_lets_a_value_into_log_or_audit(tmp_path, logged, monkeypatch):
    """What breaks, breaks with words of the mail in its exception."""

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"cannot read {MARK}")

    def refused(_: Any) -> Any:
        raise ConnectionResetError(f"550 {MARK}")

    async with walking(tmp_path, gate="confirm") as walk:
        account = await walk.gateway.accounts.open("alex")
        meddled = Meddled(account.transport)
        account._transport = meddled
        meddled.before = refused
        await walk.call("send_email", to=ALEX, subject=MARK, body=MARK, confirm=True)
        monkeypatch.setattr(search, "list_emails", broken)
        await walk.call("list_emails", mailbox=MARK)
        for uri in (f"mail://{MARK}/{MARK}", f"mail://alex/{MARK}", f"mail://alex/{MARK}/attachments/{MARK}"):
            with pytest.raises(MCPError):
                await walk.client.read_resource(uri)
        with anyio.move_on_after(0):
            await worker.run(walk.gateway, pause=0)
        check_nothing_leaked(tmp_path, walk.gateway, logged)
    assert "internal_error" in logged.getvalue()
    assert "submit_unclear" in logged.getvalue()
