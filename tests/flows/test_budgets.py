"""What a model pays for an answer."""

from __future__ import annotations

from mcp_types import CallToolResult
from tests.flows import mails
from tests.flows.caller import Caller, text_of


def whole(result: CallToolResult) -> int:
    return len(result.model_dump_json(by_alias=True, exclude_none=True).encode())


async def test_a_listing_of_twenty_mails_fits(call: Caller) -> None:
    result = await call("list_emails", limit=20)

    assert len(text_of(result).encode()) < 2_500
    assert whole(result) < 9_000


async def test_a_short_listing_shows_longer_snippets(call: Caller) -> None:
    short = (await call.ok("list_emails", limit=3, offset=10))["results"][0]
    long = next(
        row for row in (await call.ok("list_emails", limit=20))["results"] if row["email_id"] == short["email_id"]
    )

    assert len(short["snippet"]) > len(long["snippet"])


async def test_a_newsletter_of_26_kb_fits_with_its_links(call: Caller) -> None:
    source = mails.newsletter().get_content()
    assert len(source) > 24_000
    email_id = await call.email_id("from:weekly")

    result = await call("read_email", email_id=email_id)

    said = text_of(result)
    assert len(said.encode()) < 4_000
    assert all(f"https://news.example/story/{number}" in said for number in range(1, 13))
    assert "utm_source" not in said
