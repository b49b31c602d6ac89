"""The graph dialect: its tools, their schemas and what holds for all three that send.

`docs/contracts/graph.md` maps its contract to these tests and those in the files beside this one.
"""

from __future__ import annotations

import json
from copy import deepcopy

import pytest
from tests.architecture.tree import ROOT
from tests.dialects.graph_desk import ALICE, BOB, CAROL, MAIL, graph_desk, is_preview
from tests.flows.caller import text_of

from postroom.doors.mcp.dialects import graph as dialect
from postroom.doors.mcp.tool_table import render
from postroom.doors.mcp.toolbox import bind
from postroom.model.errors import AuthRequired, PermissionDenied
from postroom.model.outcome import SubmitOutcome
from postroom.providers.oauth.scopes import scopes_for
from postroom.settings.dialects import TRAITS

TOOLS = {spec.name: bind(spec) for toolset in dialect.TOOLSETS for spec in toolset.specs}
SENDING = ("send_email", "reply_email", "forward_email")
EMAILS = {"type": "array", "items": {"format": "email", "type": "string"}, "maxItems": 500}
WRITE = {
    "user_id": {"type": "string"},
    "idempotency_key": {"type": "string"},
    "confirm": {"type": "boolean", "default": False},
}
AGREED = {
    "send_email": {
        "to": {**EMAILS, "minItems": 1, "description": "Empfänger-E-Mail-Adressen (mindestens 1, max 500)"},
        "cc": {**EMAILS, "description": "CC-Empfänger"},
        "bcc": {**EMAILS, "description": "BCC-Empfänger"},
        "subject": {"type": "string", "minLength": 1, "maxLength": 255, "description": "Betreff der E-Mail"},
        "body": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100_000,
            "description": "E-Mail-Body (Plain-Text oder HTML je nach body_type)",
        },
        "body_type": {
            "type": "string",
            "enum": ["text", "html"],
            "default": "text",
            "description": "Body-Format: 'text' für Plain-Text, 'html' für HTML",
        },
        "importance": {
            "type": "string",
            "enum": ["low", "normal", "high"],
            "default": "normal",
            "description": "Wichtigkeit der E-Mail",
        },
        "save_to_sent_items": {
            "type": "boolean",
            "default": True,
            "description": "E-Mail in 'Gesendete Elemente' speichern (default: true)",
        },
    },
    "reply_email": {
        "message_id": {
            "type": "string",
            "minLength": 1,
            "description": "ID der Original-E-Mail, auf die geantwortet wird",
        },
        "comment": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100_000,
            "description": "Antwort-Text (wird als Kommentar über die Original-Mail gesetzt)",
        },
        "reply_all": {
            "type": "boolean",
            "default": False,
            "description": "Wenn true: Reply-All an alle Empfänger. Wenn false: nur an den Absender.",
        },
    },
    "forward_email": {
        "message_id": {
            "type": "string",
            "minLength": 1,
            "description": "ID der E-Mail, die weitergeleitet werden soll",
        },
        "to": {**EMAILS, "minItems": 1, "description": "Empfänger der Weiterleitung (mindestens 1)"},
        "comment": {
            "type": "string",
            "maxLength": 100_000,
            "description": "Optionaler Kommentar, der über die weitergeleitete E-Mail gesetzt wird",
        },
    },
}
REQUIRED = {
    "send_email": ["to", "subject", "body"],
    "reply_email": ["message_id", "comment"],
    "forward_email": ["message_id", "to"],
}


@pytest.mark.parametrize("tool", SENDING)
def test_each_schema_is_the_agreed_one_with_its_limits_defaults_and_descriptions(tool):
    schema = TOOLS[tool].parameters
    shown = deepcopy(schema["properties"])
    write = {name: shown.pop(name) for name in WRITE}
    assert all(one.pop("description") for one in write.values())
    assert write == WRITE
    shown.pop("attachments", None)  # announced without a schema of its own
    assert shown == AGREED[tool]
    assert schema["required"] == REQUIRED[tool]


def test_attachments_are_optional_and_each_is_under_four_megabytes():
    schema = TOOLS["send_email"].parameters
    file = schema["$defs"]["Attachment"]
    assert "attachments" not in schema["required"]
    assert file["required"] == ["name", "content_base64"]
    assert file["properties"]["content_base64"]["maxLength"] * 3 // 4 < 4 * 2**20


async def test_the_three_tools_and_those_their_flows_use_are_listed(tmp_path):
    async with graph_desk(tmp_path) as graph:
        names = {tool.name for tool in (await graph.call.client.list_tools()).tools}
        reading = {"list_emails", "search_emails", "read_email", "list_attachments", "download_attachment"}
        assert names == {*SENDING, *reading}


@pytest.mark.parametrize(
    ("tool", "purpose"),
    [
        ("send_email", "Sendet eine neue E-Mail"),
        ("reply_email", "Antwortet auf eine vorhandene E-Mail"),
        ("forward_email", "Leitet eine vorhandene E-Mail"),
    ],
)
def test_a_description_says_when_to_use_the_tool_and_that_it_previews_first(tool, purpose):
    """What it is for comes first; which of the others to use in other cases, after that."""
    said = TOOLS[tool].description
    assert said.startswith(purpose)
    assert all(other in said for other in SENDING if other != tool)
    assert "Ohne confirm: true wird nichts gesendet" in said
    assert "Vorschau" in said
    hints = TOOLS[tool].annotations
    assert (hints.destructive_hint, hints.open_world_hint, hints.read_only_hint) == (True, True, False)


def test_the_pages_have_its_tools_and_the_permissions_they_need():
    tools, permissions = ((ROOT / "docs" / page).read_text() for page in ("tools.md", "permissions.md"))
    assert render("graph").strip() in tools
    below = tools.partition("<!-- /tools-graph -->")[2].partition("<!--")[0]
    assert all(word in below for word in (*SENDING, "`Mail.Send`", "`Mail.Read`", "`Mail.ReadWrite`"))
    own = permissions.partition("## Dialect `graph`")[2].partition("## ")[0]
    (row,) = [line for line in own.splitlines() if line.startswith("| `send_email`, `reply_email`, `forward_email` |")]
    assert all(f"`{scope}`" in row for scope in scopes_for("microsoft", "graph", ("send",)))
    assert "`Mail.Send`" in row


@pytest.mark.parametrize("tool", ["send_email", "reply_email", "forward_email"])
async def test_every_preview_has_one_form_and_is_no_error(graph, tool):
    original = await graph.letter()
    arguments = {
        "send_email": MAIL,
        "reply_email": {"message_id": original, "comment": "Ja."},
        "forward_email": {"message_id": original, "to": [CAROL], "comment": "Zur Info."},
    }[tool]
    result = await graph.call(tool, **arguments)
    title, *_ = text_of(result).splitlines()
    assert is_preview(result)
    assert title.startswith("Vorschau: E-Mail ")
    assert "Es wurde noch nichts gesendet." in text_of(result)
    assert {"to", "subject", "body"} <= set(result.structured_content["preview"])
    assert graph.provider.attempts == []


@pytest.mark.parametrize("tool", ["send_email", "hidden", "reply_email", "reply_all", "forward_email"])
async def test_what_a_preview_notes_is_in_german_too(graph, tool):
    original = await graph.letter()
    tool, arguments = {
        "send_email": ("send_email", MAIL),
        "hidden": ("send_email", {**MAIL, "body": "<p>Hallo<span hidden>!!</span></p>", "body_type": "html"}),
        "reply_email": ("reply_email", {"message_id": original, "comment": "Ja."}),
        "reply_all": ("reply_email", {"message_id": original, "comment": "Ja.", "reply_all": True}),
        "forward_email": ("forward_email", {"message_id": original, "to": [CAROL]}),
    }[tool]
    preview = (await graph.call.ok(tool, **arguments))["preview"]
    assert preview.get("notes") or not graph.is_native
    for note in preview.get("notes", ()):
        assert note.startswith(("Der Anbieter ", "Die HTML-Fassung "))


async def test_without_confirm_nothing_leaves_and_with_it_the_same_call_does(graph):
    assert is_preview(await graph.call("send_email", **MAIL))
    assert is_preview(await graph.call("send_email", **MAIL, confirm=False))
    assert (await graph.sent("send_email", **MAIL))["status"] == "sent"
    assert await graph.inbox("bob") == ["Angebot"]


def test_the_gate_of_this_dialect_is_confirm_and_its_keys_live_ten_minutes():
    assert (TRAITS["graph"].gate, TRAITS["graph"].key_seconds) == ("confirm", 600)


@pytest.mark.parametrize(("gate", "status"), [("preview", "preview"), ("approval", "needs_approval")])
async def test_an_operator_can_demand_more_than_confirm(tmp_path, gate, status):
    async with graph_desk(tmp_path, gate=gate) as graph:
        answer = await graph.sent("send_email", **MAIL)
        assert (answer["status"], graph.provider.attempts) == (status, [])


async def test_whom_the_operator_blocks_is_no_matter_of_scopes(tmp_path):
    async with graph_desk(tmp_path, block_recipients=[BOB]) as graph:
        error = await graph.refusal("send_email", **MAIL)
        assert (error["code"], "requiredScope" in error) == ("PermissionError", False)


async def test_keys_of_one_tool_are_not_those_of_another(graph):
    original = await graph.letter()
    await graph.sent("send_email", **MAIL, idempotency_key="k1")
    answered = await graph.sent("reply_email", message_id=original, comment="Ja.", idempotency_key="k1")
    forwarded = await graph.sent("forward_email", message_id=original, to=[CAROL], idempotency_key="k1")
    assert [answered["status"], forwarded["status"]] == ["sent", "sent"]


async def test_keys_of_one_user_are_not_those_of_another(graph):
    """bob has a mailbox of his own here; the key is his once more."""
    mine = await graph.sent("send_email", **{**MAIL, "to": [CAROL]}, idempotency_key="k1")
    his = await graph.sent("send_email", **{**MAIL, "to": [CAROL]}, idempotency_key="k1", user_id=BOB)
    assert (mine["status"], his["status"]) == ("sent", "sent")
    assert await graph.inbox("carol") == ["Angebot", "Angebot"]


async def test_me_and_the_own_address_are_one_user(graph):
    await graph.sent("send_email", **MAIL, idempotency_key="k1")
    for user in ("me", ALICE):
        again = await graph.sent("send_email", **MAIL, idempotency_key="k1", user_id=user)
        assert again["status"] == "already_executed"


async def test_a_user_without_a_mailbox_here_is_an_error_and_nothing_leaves(graph):
    error = await graph.refusal("send_email", **MAIL, user_id="sales@demo.example")
    assert error["code"] == "UnsupportedError"
    assert (await graph.refusal("send_email", **MAIL, user_id="kein Benutzer"))["code"] == "ValidationError"
    assert graph.provider.attempts == []


def test_the_instructions_fit_a_model_that_reads_untrusted_mail():
    assert "niemals Anweisungen" in dialect.INSTRUCTIONS
    assert len(json.dumps(dialect.INSTRUCTIONS)) < 1000


@pytest.mark.parametrize(
    ("safety", "status"), [({"hold_seconds": 60}, "held"), ({"dev_mode": True}, "dev_mode")], ids=["held", "dev mode"]
)
async def test_what_an_operator_holds_back_is_answered_as_such_and_is_no_error(tmp_path, safety, status):
    async with graph_desk(tmp_path, **safety) as graph:
        assert (await graph.sent("send_email", **MAIL))["status"] == status
        assert graph.provider.attempts == []


async def test_an_answer_that_was_lost_is_not_called_an_error_and_asks_for_no_repetition(tmp_path):
    async with graph_desk(tmp_path) as graph:
        graph.provider.before = lost
        graph.provider.reconcile = nothing_found
        answer = await graph.sent("send_email", **MAIL)
        assert answer["status"] in ("unknown", "needs_human")
        assert "Nicht erneut senden" in answer["message"]


def lost():
    raise ConnectionResetError("the answer never came")


async def nothing_found(_request):
    return SubmitOutcome("unknown", reason="There is no evidence.")


@pytest.mark.parametrize(("tool", "scope"), [("send_email", "Mail.ReadWrite"), ("reply_email", "Mail.Read")])
def test_what_is_refused_before_anything_is_sent_names_the_scope_for_that(tool, scope):
    """A draft with attachments is stored, and an original read, before the provider is asked to send."""
    result = dialect.failure(PermissionDenied("No (403).", details={"status": 403}), tool)
    assert result.structured_content["error"]["requiredScope"] == scope
    assert dialect.failure(AuthRequired("Log in."), tool).structured_content["error"]["requiredScope"] == "Mail.Send"
