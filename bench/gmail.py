"""What each tool call costs at Gmail: requests, bytes and quota units, beside the fewest requests that could do it.

python bench/gmail.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from web import measure  # isort: skip (puts the tests within reach)

from tests.peers.gmail import FakeGmail

LEAST = (2, 2, 1, 1, 2)  # the label of the last one is new


def main() -> None:
    with tempfile.TemporaryDirectory() as home, FakeGmail.started() as gmail:
        gmail.quota.per_user_per_minute = gmail.quota.per_project_per_minute = None
        user = gmail.user("bench@gmail.example")
        account = {"provider": "gmail", "address": user.address, "base_url": gmail.url, "units_per_minute": 10**8}
        account["token"] = gmail.token(user)

        def deliver(raw: bytes, when: float) -> None:
            gmail.deliver(user, raw, when=when)

        asyncio.run(measure(gmail, account, deliver, LEAST, Path(home)))


if __name__ == "__main__":
    main()
