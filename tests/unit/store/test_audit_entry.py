from __future__ import annotations

import json

import pytest

from postroom.store.audit.entry import AuditEntry, canonical


def test_what_is_not_said_in_an_entry_is_nothing() -> None:
    entry = AuditEntry("send_email", "success")
    assert (entry.correlation_id, entry.actor, entry.target, entry.error) == ("", "", "", "")
    assert (entry.duration_ms, entry.parameters) == (0, {})
    assert json.loads(canonical(entry, 1_800_000_000.0)) == {
        "timestamp": "2027-01-15T08:00:00.000+00:00",
        "correlation_id": "",
        "actor": "",
        "action_type": "send_email",
        "target": "",
        "result": "success",
        "duration_ms": 0,
        "parameters": {},
        "error": "",
    }


def test_an_entry_is_spelt_so_that_any_reader_comes_to_the_same_hash() -> None:
    assert canonical(AuditEntry("undo", "success", parameters={"count": 2, "attempt": 1}), 1_800_000_000.0) == (
        '{"action_type":"undo","actor":"","correlation_id":"","duration_ms":0,"error":"",'
        '"parameters":{"attempt":1,"count":2},"result":"success","target":"","timestamp":"2027-01-15T08:00:00.000+00:00"}'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_spell_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical(AuditEntry("undo", "success", parameters={"count": number}), 1.0)
