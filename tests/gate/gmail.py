"""Accounts on a fake Gmail for the tests of the gate: fresh mailboxes under the usual names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.gate.rigs import ACCOUNTS
from tests.peers.gmail import FakeGmail


def gmail_accounts(gmail: FakeGmail) -> list[dict[str, Any]]:
    """Whatever the mailboxes held before is forgotten, and who could be written to."""
    gmail.quota.per_user_per_minute = gmail.quota.per_project_per_minute = None
    with gmail.lock:
        gmail.users.clear()
        gmail.sent.clear()
    return [_account(gmail, name) for name in ACCOUNTS]


def _account(gmail: FakeGmail, name: str) -> dict[str, Any]:
    user = gmail.user(f"{name}@demo.example")
    return {
        "name": name,
        "provider": "gmail",
        "address": user.address,
        "base_url": gmail.url,
        "token": gmail.token(user),
        "units_per_minute": 10**7,
    }


def furnish_gmail(gmail: FakeGmail, home: Path) -> None:
    (home / "gmail.json").write_text(json.dumps(gmail_accounts(gmail)))


def read_accounts(home: Path) -> list[dict[str, Any]]:
    accounts: list[dict[str, Any]] = json.loads((home / "gmail.json").read_text())
    return accounts
