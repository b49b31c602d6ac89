"""Drafts and their twins, identities, history, rules."""

from __future__ import annotations

import json

import pytest
from tests.contract.mails import PDF, mail
from tests.peers.gmail.methods import COMPOSE, FULL

from postroom.mime.read.parse import parse
from postroom.model.address import Address
from postroom.model.errors import Conflict, CursorExpired, InvalidRequest, NotFound, PermissionDenied, Unsupported
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.rule import Action, Condition, Rule
from postroom.providers.gmail.mail.twin import with_twin

from .conftest import Box, opened

LETTER = (
    "Dear Ada,\n\nthis line is much longer than seventy-eight signs, so that an editor that breaks lines breaks it.\n"
    '  <b> & "quotes"\n'
)


SHARING = "https://www.googleapis.com/auth/gmail.settings.sharing"


async def test_a_drafts_ref_holds_while_the_message_in_it_gets_new_ids(box: Box) -> None:
    saved = await box.mailbox.create_draft(mail("plan", text="One."))
    seen = {saved.message_ref}
    for text in ("Two.", "Three."):
        updated = await box.mailbox.update_draft(saved.ref, mail("plan", text=text))
        assert updated.ref == saved.ref
        seen.add(updated.message_ref)
    assert len(seen) == 3
    with pytest.raises(NotFound):
        await box.mailbox.fetch(saved.message_ref)
    assert (await box.mailbox.find_draft(saved.ref)).message_ref == updated.message_ref


async def test_a_draft_is_found_by_the_message_that_is_in_it_now(box: Box) -> None:
    saved, other = [await box.mailbox.create_draft(mail(name)) for name in ("plan", "other")]
    updated = await box.mailbox.update_draft(saved.ref, mail("plan", text="Two."))
    asked = [updated.message_ref, saved.message_ref, "19a0ffffffffffff"]
    assert await box.mailbox.draft_refs(asked) == {updated.message_ref: saved.ref}
    assert await box.mailbox.draft_refs([other.message_ref]) == {other.message_ref: other.ref}


async def test_a_draft_in_a_thread_that_is_gone_is_saved_without_it(box: Box) -> None:
    saved = await box.mailbox.create_draft(mail("plan"), thread_ref="19a0ffffffffffff")
    assert saved.thread_ref != "19a0ffffffffffff"
    updated = await box.mailbox.update_draft(saved.ref, mail("plan"), thread_ref="../x")
    assert updated.ref == saved.ref


@pytest.mark.parametrize("files", [(), [("plan.pdf", PDF)]])
def test_a_plain_draft_gets_an_html_version_of_the_same_words(files: object) -> None:
    raw = mail("plan", subject="Größe ändern", text=LETTER, files=files)  # type: ignore[arg-type]
    before, after = parse(raw), parse(with_twin(raw))
    assert after.body.text.split() == before.body.text.split()
    assert '&lt;b&gt; &amp; "quotes"' in after.body.html
    assert after.body.html.count("<br>") == 3
    assert [file.filename for file in after.attachments] == [file.filename for file in before.attachments]
    for name in ("subject", "to", "message_id", "date", "in_reply_to"):
        assert getattr(after, name) == getattr(before, name)


def test_a_draft_that_has_an_html_version_or_no_text_is_left_as_it_is() -> None:
    for raw in (mail("a", text="x", html="<p>y</p>"), mail("b", text="")):
        assert with_twin(raw) == raw


async def test_a_saved_draft_has_the_twin_and_what_is_staged_has_exactly_its_bytes(box: Box) -> None:
    saved = await box.mailbox.create_draft(mail("plan", text=LETTER))
    assert "<div" in (await box.mailbox.fetch(saved.message_ref)).body.html
    raw = mail("out", text=LETTER, sender=box.user.address, to="bob@gmail.example")
    request = SubmitRequest(WireEnvelope(box.user.address, ("bob@gmail.example",)), raw, "<out@seed.example>", "a")
    ref = await box.transport.stage(request)
    assert box.user.draft(ref).raw == raw


async def test_identities_are_the_verified_addresses_with_their_signatures_the_default_first(box: Box) -> None:
    box.gmail.add_send_as(box.user, "sales@gmail.example", "Sales")
    box.gmail.add_send_as(box.user, "pending@gmail.example", verified=False)
    box.user.send_as["sales@gmail.example"] |= {"signature": "<b>Sales</b>", "isDefault": True}
    box.user.send_as[box.user.address]["isDefault"] = False
    first, second = await box.mailbox.identities()
    assert (first.address.email, first.signature_html, first.is_default) == (
        "sales@gmail.example",
        "<b>Sales</b>",
        True,
    )
    assert second.address.email == box.user.address


async def test_a_login_that_may_not_read_settings_writes_as_its_own_address(box: Box) -> None:
    _, mailbox, _ = opened(box.gmail, box.user, token=box.gmail.token(box.user, {COMPOSE}), display_name="Me")
    (only,) = await mailbox.identities()
    assert (only.address.email, only.address.name, only.is_default) == (box.user.address, "Me", True)
    await mailbox.close()


async def test_a_delegated_login_creates_aliases_and_no_other_may_try(box: Box) -> None:
    assert not (await box.mailbox.connect()).can_create_alias
    with pytest.raises(Unsupported):
        await box.mailbox.create_alias(Address("sales@gmail.example"), "")

    token = box.gmail.token(box.user, {FULL, SHARING}, delegated=True)
    _, mailbox, _ = opened(box.gmail, box.user, token=token, delegated=True)
    assert (await mailbox.connect()).can_create_alias
    alias = Address(f"sales2@{Address(box.user.address).domain}", "Sales")
    made = await mailbox.create_alias(alias, "<b>Sales</b>")
    assert (made.address, made.signature_html) == (alias, "<b>Sales</b>")
    assert alias in [one.address for one in await mailbox.identities()]
    with pytest.raises(Conflict):
        await mailbox.create_alias(alias, "")
    await mailbox.close()


async def test_no_alias_is_created_at_an_address_that_google_would_write_to(box: Box) -> None:
    token = box.gmail.token(box.user, {FULL, SHARING}, delegated=True)
    _, mailbox, _ = opened(box.gmail, box.user, token=token, delegated=True)
    for elsewhere in ("mallory@evil.example", f"mallory@sub.{Address(box.user.address).domain}"):
        with pytest.raises(PermissionDenied, match="nothing is sent without the gate"):
            await mailbox.create_alias(Address(elsewhere, "what was in the mail"), "")
        assert elsewhere not in box.user.send_as
    await mailbox.close()


async def test_a_record_of_many_changes_is_told_in_pages_without_loss(box: Box) -> None:
    cursor = (await box.mailbox.changed_since("", limit=1)).cursor
    many = [{"message": {"id": f"19a000000000000{n}"}} for n in range(5)]
    record = {"id": "2000000", "labelsAdded": many}
    told: list[str] = []
    for _ in range(3):
        box.gmail.answer_next("GET", "history.list", json.dumps({"history": [record], "historyId": "2000000"}))
        page = await box.mailbox.changed_since(cursor, limit=2)
        told += page.changed
        cursor = page.cursor
        assert page.has_more == (len(told) < 5)
    assert (told, cursor) == ([entry["message"]["id"] for entry in many], "2000000")


async def test_changes_behind_a_page_without_any_record_are_told(box: Box) -> None:
    """Seen at Gmail: no `history`, and a token of another page."""
    cursor = (await box.mailbox.changed_since("", limit=1)).cursor
    record = {"id": "2000000", "messagesAdded": [{"message": {"id": "19a0000000000001"}}]}
    for answer in ({"nextPageToken": "2", "historyId": "2000000"}, {"history": [record], "historyId": "2000000"}):
        box.gmail.answer_next("GET", "history.list", json.dumps(answer))
    page = await box.mailbox.changed_since(cursor, limit=5)
    assert (page.changed, page.cursor, page.has_more) == (("19a0000000000001",), "2000000", False)


async def test_a_history_that_gmail_has_forgotten_asks_to_read_everything_again(box: Box) -> None:
    cursor = (await box.mailbox.changed_since("", limit=1)).cursor
    box.gmail.forget_history(box.user)
    with pytest.raises(CursorExpired):
        await box.mailbox.changed_since(cursor, limit=5)


NEWS = Rule(
    "News",
    (Condition("from", "in", ("news@a.example", "news@b.example")), Condition("subject", "contains", ("offer",))),
    (Action("apply_label", "News"), Action("mark_read"), Action("archive")),
)
BIG = Rule("Big", (Condition("size", "greater_than", ("1000",)),), (Action("star"),))


async def test_rules_are_filters_that_work_and_those_of_others_are_left_alone(box: Box) -> None:
    box.user.filters["foreign"] = {
        "id": "foreign",
        "criteria": {"from": "x@y.example"},
        "action": {"addLabelIds": ["STARRED"]},
    }
    await box.mailbox.put_rules([NEWS, BIG])
    assert (await box.mailbox.list_rules()).rules == (NEWS, BIG)
    ref = box.deliver(sender="News <news@b.example>", subject="An offer")
    (row,) = await box.mailbox.envelopes([ref])
    assert row is not None
    assert (row.folder, row.unread) == ("News", False)
    await box.mailbox.put_rules([BIG])
    rules = await box.mailbox.list_rules()
    assert (rules.rules, rules.is_active) == ((BIG,), True)
    await box.mailbox.put_rules([])
    assert set(box.user.filters) == {"foreign"}


@pytest.mark.parametrize(
    ("rule", "lacking"),
    [
        (Rule("a", NEWS.conditions, (Action("forward", "x@y.example"),)), "forward"),
        (Rule("b", (Condition("age_days", "greater_than", ("3",)),), BIG.actions), "age_days"),
        (Rule("c", (Condition("subject", "matches", ("*x*",)),), BIG.actions), "subject"),
        (Rule("d", NEWS.conditions, (Action("move_folder", "Sent"),)), "move_folder"),
        (Rule("e", NEWS.conditions, (Action("mark_unread"),)), "mark_unread"),
        (Rule("f", (), BIG.actions), "at least one condition"),
        (Rule("g", (Condition("from", "contains", ('"',)),), BIG.actions), "from"),
        (
            Rule("h", (Condition("from", "in", tuple(f"a{n}@example.com" for n in range(200))),), BIG.actions),
            "too long",
        ),
    ],
)
async def test_what_gmail_cannot_run_is_named_and_changes_nothing(box: Box, rule: Rule, lacking: str) -> None:
    (reasons,) = (await box.mailbox.check_rules([rule, BIG])).values()
    assert lacking in " ".join(reasons)
    with pytest.raises(InvalidRequest, match=lacking):
        await box.mailbox.put_rules([BIG, rule])
    assert box.user.filters == {}


async def test_filters_cannot_be_stopped(box: Box) -> None:
    await box.mailbox.activate_rules(True)
    with pytest.raises(Unsupported):
        await box.mailbox.activate_rules(False)
