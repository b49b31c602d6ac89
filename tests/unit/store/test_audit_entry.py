from __future__ import annotations

import json

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
