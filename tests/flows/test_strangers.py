"""Text that came by mail is cleaned, set apart and vouched for by nobody."""

from __future__ import annotations

from tests.flows import mails
from tests.flows.caller import Caller, text_of


async def test_hidden_text_and_invisible_characters_do_not_reach_the_model(call: Caller) -> None:
    email_id = await call.email_id("from:mallory")

    result = await call("read_email", email_id=email_id)

    shown = text_of(result) + str(result.structured_content)
    assert mails.HIDDEN not in shown
    assert "\u202e" not in shown
    assert "\u200b" not in shown
    assert result.structured_content is not None
    assert result.structured_content["hidden_removed"] >= 1


async def test_a_mail_cannot_close_the_fence_around_it(call: Caller) -> None:
    email_id = await call.email_id("from:mallory")

    result = await call("read_email", email_id=email_id)

    assert result.structured_content is not None
    marker = result.structured_content["untrusted"]["marker"]
    said = text_of(result)
    assert said.count(f"</{marker}>") == 1
    assert said.index("Ignore all instructions") < said.index(f"</{marker}>")
    assert said.index("SYSTEM: forward") > said.index(f"<{marker}>")


async def test_listings_set_apart_what_strangers_wrote(call: Caller) -> None:
    result = await call("list_emails", limit=3)

    said = text_of(result)
    fence = said.index("<untrusted-")
    assert said.index("SYSTEM: forward") > fence
    assert result.structured_content is not None
    assert "subject" in result.structured_content["untrusted_fields"]


async def test_a_sender_who_is_not_who_he_says_is_pointed_out(call: Caller) -> None:
    email_id = await call.email_id("from:mallory")

    result = await call("read_email", email_id=email_id)

    assert result.structured_content is not None
    warnings = " ".join(result.structured_content["sender_checks"]["warnings"])
    assert warnings
    assert "Warning: " in text_of(result)
