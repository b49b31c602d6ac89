"""Mail as resources, and the requests a person can pick."""

from __future__ import annotations

import base64

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    PromptReference,
    ResourceTemplateReference,
    TextResourceContents,
)
from tests.flows import mails
from tests.flows.caller import Caller

Reference = PromptReference | ResourceTemplateReference
PROMPT = PromptReference(name="triage_inbox")
TEMPLATE = ResourceTemplateReference(uri="mail://{account}/{email_id}")


async def test_the_templates_are_announced(call: Caller) -> None:
    templates = (await call.client.list_resource_templates()).resource_templates

    assert {template.uri_template for template in templates} == {
        "mail://{account}/inbox",
        "mail://{account}/{email_id}",
        "mail://{account}/{email_id}/raw",
        "mail://{account}/{email_id}/attachments/{attachment_id}",
    }


async def test_a_mail_is_read_as_text_with_its_words_set_apart(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    (content,) = (await call.client.read_resource(f"mail://alex/{email_id}")).contents

    assert isinstance(content, TextResourceContents)
    assert "See attached." in content.text
    assert "<untrusted-" in content.text


async def test_a_mail_is_read_as_it_came(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    (content,) = (await call.client.read_resource(f"mail://alex/{email_id}/raw")).contents

    assert isinstance(content, BlobResourceContents)
    assert b"<invoice-77@mail.example>" in base64.b64decode(content.blob)


async def test_the_link_of_an_attachment_leads_to_its_bytes(call: Caller) -> None:
    email_id = await call.email_id("from:billing")
    pdf = (await call.ok("list_attachments", email_id=email_id))["attachments"][0]

    (content,) = (await call.client.read_resource(pdf["uri"])).contents

    assert isinstance(content, BlobResourceContents)
    assert base64.b64decode(content.blob) == mails.PDF


@pytest.mark.parametrize(
    "uri", ["mail://alex/e0000000000", "mail://alex/e0000000000/raw", "mail://alex/e0000000000/attachments/1"]
)
async def test_a_link_that_leads_nowhere_says_so(caller: Caller, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        await caller.client.read_resource(uri)

    assert "e0000000000" in str(caught.value)


async def test_a_link_with_the_wrong_account_is_refused(caller: Caller) -> None:
    email_id = await caller.email_id("from:billing")

    with pytest.raises(MCPError, match="alex") as caught:
        await caller.client.read_resource(f"mail://sam/{email_id}")
    assert caught.value.error.code == INVALID_PARAMS
    with pytest.raises(MCPError, match="There is no account 'nobody'") as caught:
        await caller.client.read_resource("mail://nobody/inbox")
    assert caught.value.error.code == INVALID_PARAMS


@pytest.mark.parametrize("name", ["triage_inbox", "daily_digest"])
async def test_a_prompt_works_without_arguments(call: Caller, name: str) -> None:
    prompt = await call.client.get_prompt(name)

    assert "data" in str(prompt.messages[0].content)


async def test_the_reply_prompt_names_the_mail(call: Caller) -> None:
    prompt = await call.client.get_prompt("draft_reply", {"email_id": "e0000000000"})

    assert "e0000000000" in str(prompt.messages[0].content)


@pytest.mark.parametrize("ref", [PROMPT, TEMPLATE], ids=["prompt", "resource"])
async def test_accounts_are_completed_by_name(call: Caller, ref: Reference) -> None:
    async def completed(typed: str) -> list[str]:
        return (await call.client.complete(ref, {"name": "account", "value": typed})).completion.values

    assert await completed("") == ["alex", "sam"]
    assert await completed("S") == ["sam"]
    assert await completed("nobody") == []


async def test_message_ids_are_completed_from_the_newest_of_the_chosen_account(call: Caller) -> None:
    newest = [row["email_id"] for row in (await call.ok("list_emails", limit=50))["results"]]
    argument = {"name": "email_id", "value": ""}

    alex = (await call.client.complete(TEMPLATE, argument, {"account": "alex"})).completion
    sam = (await call.client.complete(TEMPLATE, argument, {"account": "sam"})).completion

    assert alex.values == newest
    assert sam.values == []


async def test_what_cannot_be_completed_is_no_error(call: Caller) -> None:
    for name, account in (("wishes", "alex"), ("email_id", "nobody"), ("attachment_id", "alex")):
        answer = await call.client.complete(TEMPLATE, {"name": name, "value": "x"}, {"account": account})
        assert answer.completion.values == []


async def test_a_prompt_that_does_not_exist_or_lacks_an_argument_is_the_callers_mistake(call: Caller) -> None:
    with pytest.raises(MCPError, match=r"There is no prompt 'triage'\. Use one of: triage_inbox") as unknown:
        await call.client.get_prompt("triage")
    with pytest.raises(MCPError, match="Prompt draft_reply needs email_id") as incomplete:
        await call.client.get_prompt("draft_reply", {"wishes": "be kind", "email_id": ""})
    misspelt = r"Unknown argument acount of prompt triage_inbox; did you mean account\? .* takes: account"
    with pytest.raises(MCPError, match=misspelt) as unfit:
        await call.client.get_prompt("triage_inbox", {"acount": "alex"})

    assert {one.value.error.code for one in (unknown, incomplete, unfit)} == {INVALID_PARAMS}
