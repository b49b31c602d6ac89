"""What root makes in the home of a service can be used by the service."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postroom.settings import build, secrets
from postroom.settings.clients import Client, create
from postroom.store import open_store

SERVICE = 10001
ACCOUNTS = [{"name": "box", "provider": "local", "address": "box@example.com"}]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files for others")
@pytest.mark.parametrize("owner", [SERVICE, 0])
def test_what_root_makes_in_the_home_of_another_user_is_theirs(tmp_path: Path, owner: int) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.chown(home, owner, owner)
    create(build({"accounts": ACCOUNTS}, home=home), Client("laptop", ""))
    secrets.keep("work", "password", "s3cret", environ={"POSTROOM_HOME": str(home)}, in_file=True)
    open_store(home / "state.db", audit_mirror=home / "vault" / "Logs").close()
    made = [home, *home.rglob("*")]
    assert len(made) > 5
    assert {path.stat().st_uid for path in made} == {owner}
    assert {path.stat().st_mode & 0o077 for path in made} == {0}
