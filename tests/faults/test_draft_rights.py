"""A login whose rights are too few for a tool: the error says that, and claims nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gate.rigs import MAIL, gate_rig
from tests.gate.services import Gmail

from postroom.model.errors import PermissionDenied, PostroomError
from postroom.service.writing import draft as drafts

_SCOPES = tuple(f"https://www.googleapis.com/auth/gmail.{name}" for name in ("readonly", "compose"))


async def test_a_draft_that_may_not_be_moved_to_the_trash_is_not_called_gone(tmp_path: Path) -> None:
    with Gmail.started() as service:
        accounts = service.accounts()
        accounts[0]["token"] = service.fake.token(service.user(), _SCOPES)
        async with gate_rig(tmp_path, accounts=accounts) as gate:
            saved = await drafts.create_draft(gate.gateway, MAIL)
            with pytest.raises(PermissionDenied, match="organise"):
                await drafts.delete_draft(gate.gateway, saved.draft_id)
            assert service.drafts_left() == 1
            assert (await drafts.list_drafts(gate.gateway)).results


async def test_a_draft_that_could_not_be_moved_now_is_not_called_gone(tmp_path: Path) -> None:
    with Gmail.started() as service:
        async with gate_rig(tmp_path, accounts=service.accounts()) as gate:
            saved = await drafts.create_draft(gate.gateway, MAIL)
            service.fake.fail_next("POST", "messages.batchModify", status=500)
            with pytest.raises(PostroomError) as failed:
                await drafts.delete_draft(gate.gateway, saved.draft_id)
            assert failed.value.reason != "draft_gone"
            assert service.drafts_left() == 1
