from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.kit import A_DAY, FakeTime

from postroom.model.address import masked
from postroom.model.errors import InternalError
from postroom.store import AuditEntry, AuditReport, Store, open_store
from postroom.store.audit.entry import canonical

SENT = AuditEntry(
    action_type="send_email",
    result="success",
    correlation_id="c-17",
    actor="claude-desktop (1.2)",
    target=masked("john@example.com"),
    duration_ms=12,
    parameters={"recipients": 2, "gate": "approval", "confirm": True},
)
FIELDS = (
    "timestamp correlation_id actor action_type target result duration_ms parameters error".split()  # noqa: SIM905
)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return tmp_path / "vault" / "Logs" / "actions"


@pytest.fixture
def mirrored(path: Path, time: FakeTime, mirror: Path) -> Iterator[Store]:
    opened = open_store(path, clock=time.clock(), audit_mirror=mirror)
    yield opened
    opened.close()


def lines(mirror: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(mirror.iterdir()) for line in file.read_text().splitlines()]


def rewrite(store: Store, statement: str, *values: object) -> None:
    with store._database.transaction() as connection:
        connection.execute(statement, values)


def test_an_entry_says_what_was_done_and_no_more(store: Store) -> None:
    assert store.audit.append(SENT) == 1
    [entry] = store.audit.recent()
    assert entry == {
        "seq": 1,
        "timestamp": "2027-01-15T08:00:00.000+00:00",
        "correlation_id": "c-17",
        "actor": "claude-desktop (1.2)",
        "action_type": "send_email",
        "target": "j***@example.com",
        "result": "success",
        "duration_ms": 12,
        "parameters": {"recipients": 2, "gate": "approval", "confirm": True},
        "error": "",
    }


def test_an_untouched_chain_verifies(store: Store, other: Store) -> None:
    assert store.audit.verify() == AuditReport(0, True, None)
    for number in range(20):
        (store if number % 3 else other).audit.append(replace(SENT, duration_ms=number))
    assert other.audit.verify() == AuditReport(20, True, None)
    assert [entry["duration_ms"] for entry in store.audit.recent(3)] == [19, 18, 17]


@pytest.mark.parametrize("field", FIELDS)
def test_a_change_to_any_field_shows(store: Store, field: str) -> None:
    for _ in range(5):
        store.audit.append(SENT)
    with store._database.read() as connection:
        entry = json.loads(connection.execute("SELECT entry FROM audit WHERE seq = 3").fetchone()[0])
    entry[field] = {"recipients": 9} if field == "parameters" else 9 if field == "duration_ms" else "rewritten"
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    rewrite(store, "UPDATE audit SET entry = ? WHERE seq = 3", text)
    assert store.audit.verify() == AuditReport(5, False, 3)


@pytest.mark.parametrize(
    ("statement", "first_bad"),
    [
        ("UPDATE audit SET hash = prev_hash WHERE seq = 3", 3),
        ("UPDATE audit SET prev_hash = hash WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq = 1", 1),
        ("DELETE FROM audit WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq = 5", 5),
        ("DELETE FROM audit WHERE seq >= 3", 3),
        ("DELETE FROM audit", 1),
        ("UPDATE audit SET seq = 9 WHERE seq = 5", 5),
        ("INSERT INTO audit SELECT 6, entry, prev_hash, hash FROM audit WHERE seq = 5", 6),
        ("UPDATE audit_head SET seq = 4", 5),
        ("UPDATE audit_head SET hash = ''", 6),
        ("DELETE FROM audit_head", 1),
    ],
)
def test_an_entry_taken_out_moved_or_added_shows(store: Store, statement: str, first_bad: int) -> None:
    for _ in range(5):
        store.audit.append(SENT)
    rewrite(store, statement)
    report = store.audit.verify()
    assert (report.ok, report.first_bad) == (False, first_bad)


@pytest.mark.parametrize(
    "leak",
    [
        {"target": "john@example.com"},
        {"target": "j***@example.com, john@example.com"},
        {"target": "John <j***@example.com>"},
        {"target": "Quarterly figures"},
        {"target": ", ".join(["j***@example.com"] * 21)},
        {"parameters": {"recipients": "john@example.com"}},
        {"parameters": {"gate": "Quarterly figures, final version"}},
        {"parameters": {"subject": "figures"}},
        {"parameters": {"recipients": ["j"]}},
        {"parameters": {"count": "x" * 65}},
        {"actor": "john@example.com"},
        {"correlation_id": "<1@example.com>"},
        {"action_type": "send to john"},
        {"error": "550 no such user john@example.com"},
        {"result": "delivered"},
        {"duration_ms": "john"},
    ],
)
def test_what_does_not_belong_in_the_audit_is_refused_whole(store: Store, leak: dict[str, Any]) -> None:
    with pytest.raises(InternalError, match="audit log rejected") as caught:
        store.audit.append(replace(SENT, **leak))
    assert not {"john", "figures"} & set(caught.value.message.split())
    assert store.audit.verify() == AuditReport(0, True, None)


@pytest.mark.parametrize("target", ["", "***", "***@example.com", "e0123456789", "\u00fc***@xn--bcher-kva.example"])
def test_masked_targets_and_handles_pass(store: Store, target: str) -> None:
    assert store.audit.append(replace(SENT, target=target, error="PROVIDER_ERROR", result="error")) == 1


def test_the_mirror_holds_the_same_chain_one_file_a_day(mirrored: Store, time: FakeTime, mirror: Path) -> None:
    for _ in range(3):
        mirrored.audit.append(SENT)
        time.passes(A_DAY / 2)
    assert [file.name for file in sorted(mirror.iterdir())] == ["2027-01-15.jsonl", "2027-01-16.jsonl"]
    with mirrored._database.read() as connection:
        rows = connection.execute("SELECT * FROM audit ORDER BY seq").fetchall()
    assert lines(mirror) == [
        {"seq": row["seq"], **json.loads(row["entry"]), "prev_hash": row["prev_hash"], "hash": row["hash"]}
        for row in rows
    ]


def test_a_mirror_set_up_later_starts_with_what_comes(path: Path, store: Store, time: FakeTime, mirror: Path) -> None:
    store.audit.append(SENT)
    assert store.audit.mirror_lag() == 0
    later = open_store(path, clock=time.clock(), audit_mirror=mirror)
    assert later.audit.mirror_lag() == 0
    later.audit.append(SENT)
    assert [line["seq"] for line in lines(mirror)] == [2]
    later.close()


def test_a_mirror_that_cannot_be_written_catches_up_later(mirrored: Store, time: FakeTime, mirror: Path) -> None:
    mirror.parent.mkdir(parents=True)
    mirror.write_text("in the way")
    mirrored.audit.append(SENT)
    time.passes(A_DAY)
    mirrored.audit.append(SENT)
    assert mirrored.audit.mirror_lag() == 2
    assert mirrored.audit.verify() == AuditReport(2, True, None)
    mirror.unlink()
    mirrored.audit.append(SENT)
    assert [line["seq"] for line in lines(mirror)] == [1, 2, 3]
    assert mirrored.audit.mirror_lag() == 0


def test_half_a_line_is_never_left_in_the_mirror(
    mirrored: Store, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrored.audit.append(SENT)
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:10]))
        mirrored.audit.append(SENT)
    assert [line["seq"] for line in lines(mirror)] == [1]
    mirrored.audit.append(SENT)
    assert [line["seq"] for line in lines(mirror)] == [1, 2, 3]


def test_the_mirror_follows_no_link_out_of_the_vault(mirrored: Store, mirror: Path, tmp_path: Path) -> None:
    mirror.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.touch()
    (mirror / "2027-01-15.jsonl").symlink_to(outside)
    mirrored.audit.append(SENT)
    assert outside.read_text() == ""
    assert mirrored.audit.mirror_lag() == 1


@pytest.mark.parametrize(
    ("leak", "field"),
    [
        ({"target": "john@example.com"}, "target"),
        ({"parameters": {"subject": "figures"}}, "parameters"),
        ({"parameters": {"gate": "two words"}}, "parameters.gate"),
        ({"parameters": {"gate": []}}, "parameters.gate"),
        ({"actor": "john@example.com"}, "actor"),
        ({"correlation_id": "a b"}, "correlation_id"),
        ({"action_type": "a b"}, "action_type"),
        ({"error": "a b"}, "error"),
        ({"result": "delivered"}, "result"),
        ({"duration_ms": 1.5}, "duration_ms"),
    ],
)
def test_a_refused_entry_names_the_field(store: Store, leak: dict[str, Any], field: str) -> None:
    with pytest.raises(InternalError) as caught:
        store.audit.append(replace(SENT, **leak))
    assert caught.value.message == (f"The audit log rejected its {field}: it accepts only masked and counted values.")


@pytest.mark.parametrize(
    "full",
    [
        {"target": ", ".join(["j***@example.com"] * 20)},
        {"correlation_id": "x" * 64, "action_type": "x" * 64, "error": "x" * 64, "actor": "x" * 64},
        {"parameters": {"count": 1, "limit": 2.5, "held": None, "confirm": False, "tool": "x" * 64}},
        {"target": "h" * 40},
    ],
)
def test_what_just_fits_enters_the_audit(store: Store, full: dict[str, Any]) -> None:
    assert store.audit.append(replace(SENT, **full)) == 1
    [entry] = store.audit.recent()
    assert {name: entry[name] for name in full} == full


@pytest.mark.parametrize("result", ["success", "rejected", "rate_limited", "error", "dev_mode", "preview"])
def test_each_result_may_be_audited(store: Store, result: Any) -> None:
    store.audit.append(replace(SENT, result=result))
    assert store.audit.recent()[0]["result"] == result


def test_an_entry_needs_an_action_and_a_result_only(store: Store) -> None:
    store.audit.append(AuditEntry("undo", "success"))
    [entry] = store.audit.recent()
    assert [entry[name] for name in ("correlation_id", "actor", "target", "duration_ms", "parameters", "error")] == [
        "", "", "", 0, {}, "",
    ]  # fmt: skip


def test_the_last_entries_come_newest_first_and_no_more_than_asked_for(store: Store) -> None:
    for _ in range(51):
        store.audit.append(SENT)
    assert [entry["seq"] for entry in store.audit.recent(2)] == [51, 50]
    assert len(store.audit.recent()) == 50


def test_only_its_owner_may_read_the_mirror(mirrored: Store, mirror: Path) -> None:
    mirrored.audit.append(SENT)
    [file] = mirror.iterdir()
    assert mirror.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_mirror_keeps_no_file_open(mirrored: Store) -> None:
    mirrored.audit.append(SENT)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        mirrored.audit.append(SENT)
    assert len(os.listdir("/proc/self/fd")) == before


def test_of_a_mirror_that_fails_half_way_the_days_that_were_written_are_not_written_again(
    mirrored: Store, time: FakeTime, mirror: Path
) -> None:
    mirror.parent.mkdir(parents=True)
    mirror.write_text("in the way")
    mirrored.audit.append(SENT)
    time.passes(A_DAY)
    mirrored.audit.append(SENT)
    mirror.unlink()
    (mirror / "2027-01-16.jsonl").mkdir(parents=True)
    mirrored.audit.append(SENT)
    assert mirrored.audit.mirror_lag() == 2
    (mirror / "2027-01-16.jsonl").rmdir()
    mirrored.audit.append(SENT)
    assert [line["seq"] for line in lines(mirror)] == [1, 2, 3, 4]


def test_an_entry_has_one_spelling_in_whichever_order_its_parameters_come() -> None:
    turned = replace(SENT, parameters=dict(reversed(SENT.parameters.items())))
    assert canonical(turned, 1.0) == canonical(SENT, 1.0)


def test_the_chain_begins_with_zeros_that_any_reader_can_check(mirrored: Store, mirror: Path) -> None:
    mirrored.audit.append(SENT)
    assert lines(mirror)[0]["prev_hash"] == "0" * 64
