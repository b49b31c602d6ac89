"""What is looked up in the state file is found by all of its names and by no part of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.kit import A_DAY, WORK, FakeTime, a_send, brought_to, sha

from postroom.model.errors import Conflict
from postroom.store import AuditEntry, State, Store, open_store

NAMES = {"account": WORK, "tool": "send_email", "content_sha256": sha("hello"), "idempotency_key": "k"}
OTHERS = {"account": "home", "tool": "reply_email", "content_sha256": sha("bye"), "idempotency_key": "other"}


def test_of_several_drafts_those_are_told_that_are_on_their_way(store: Store) -> None:
    locked = {ref: brought_to(store, State.HELD, a_send(ref, draft_ref=ref)) for ref in ("d1", "d2")}
    brought_to(store, State.CANCELLED, a_send("gone", draft_ref="d3"))
    brought_to(store, State.HELD, a_send("none"))
    assert store.outbox.of_drafts(WORK, ["d1", "d2", "d3", "d4", ""]) == locked
    assert store.outbox.of_drafts(WORK, ["d2"]) == {"d2": locked["d2"]}
    assert store.outbox.of_drafts("home", ["d1"]) == {}


def test_a_draft_that_staging_made_belongs_to_its_send(store: Store) -> None:
    send = brought_to(store, State.STAGED, a_send(draft_ref="d1"))
    staged = store.outbox.note_staged(send.send_id, "d2")
    assert store.outbox.of_drafts(WORK, ["d1", "d2", "d3"]) == {"d1": staged, "d2": staged}
    assert store.outbox.of_draft(WORK, "d2") == staged


@pytest.mark.parametrize("name", ["account", "tool", "idempotency_key"])
def test_a_key_is_one_tool_s_on_one_account(store: Store, name: str) -> None:
    held = store.outbox.reserve(store.outbox.prepare(a_send(**NAMES)).send_id).send
    names = {key: NAMES[key] for key in ("account", "tool", "idempotency_key")}
    assert store.keys.holder(*names.values()) == held
    assert store.keys.holder(*{**names, name: OTHERS[name]}.values()) is None


def test_a_key_of_another_mail_names_the_send_it_stands_for(store: Store) -> None:
    held = store.outbox.reserve(store.outbox.prepare(a_send(**NAMES)).send_id).send
    with pytest.raises(Conflict, match="different email") as refusal:
        store.keys.look_up(WORK, "send_email", "k", sha("bye"))
    assert (refusal.value.details, refusal.value.retry_after) == ({"send_id": held.send_id}, None)
    assert refusal.value.reason == "idempotency_key_reused"
    with pytest.raises(Conflict, match="in progress") as busy:
        store.keys.look_up(WORK, "send_email", "k", sha("hello"))
    assert (busy.value.details, busy.value.retry_after) == ({"send_id": held.send_id, "state": "reserved"}, 5.0)
    assert busy.value.reason == "idempotency_key_in_progress"


def test_a_person_is_not_asked_twice_about_one_key(store: Store, time: FakeTime) -> None:
    first, second = (store.outbox.prepare(a_send(**NAMES)) for _ in range(2))
    store.approvals.request(first.send_id, expires_at=time.wall + A_DAY)
    with pytest.raises(Conflict, match="already in progress") as refusal:
        store.approvals.request(second.send_id, expires_at=time.wall + A_DAY)
    assert refusal.value.details == {"send_id": second.send_id}
    assert store.outbox.get(second.send_id).state is State.PREPARED


def test_what_waits_for_a_person_is_listed_oldest_first_and_no_more_than_asked_for(
    store: Store, time: FakeTime
) -> None:
    asked = []
    for content in "abc":
        time.is_set(-5 if content == "c" else 10)
        asked.append(
            store.approvals.request(store.outbox.prepare(a_send(content)).send_id, expires_at=time.wall + A_DAY)
        )
    wanted = [asked[0], asked[2], asked[1]]
    assert [one.send_id for one in store.approvals.pending()] == [one.send_id for one in wanted]
    assert store.approvals.pending(2) == wanted[:2]
    assert store.approvals.pending_ids() == {one.approval_id for one in asked}


def test_another_process_s_send_is_named_when_it_is_refused(store: Store, other: Store) -> None:
    send = store.outbox.reserve(store.outbox.prepare(a_send()).send_id).send
    with pytest.raises(Conflict, match="Another process is working on the send") as refusal:
        other.outbox.advance(send.send_id, expect=State.RESERVED, to=State.STAGED)
    assert refusal.value.details == {"send_id": send.send_id, "state": "reserved"}


def test_the_audit_goes_on_after_it_was_verified_and_tells_what_its_mirror_lacks(path: Path, time: FakeTime) -> None:
    blocked = path.parent.parent / "mirror"
    store = open_store(path, clock=time.clock(), audit_mirror=blocked)
    assert store.audit.mirror_lag() == 0
    assert store.audit.append(AuditEntry("send_email", "success")) == 1
    assert store.audit.mirror_lag() == 0
    for file in blocked.iterdir():
        file.unlink()
    blocked.rmdir()
    blocked.write_text("no folder")
    for number in (2, 3):
        assert store.audit.verify().ok
        assert store.audit.append(AuditEntry("send_email", "success")) == number
    assert store.audit.mirror_lag() == 2
    assert [entry["seq"] for entry in store.audit.recent(2)] == [3, 2]
    store.close()
