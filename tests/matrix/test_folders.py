"""Folders and labels themselves, over MCP, on every provider that has them."""

from __future__ import annotations

from pathlib import Path

from mcp import Client
from tests.contract.mails import mail
from tests.contract.rigs import Rig, SeedMail
from tests.flows.caller import Caller

from postroom.doors.mcp.serve import server_for
from postroom.settings import build


async def test_folders_and_labels_are_renamed_and_removed_and_all_of_it_is_undone(rig: Rig, tmp_path: Path) -> None:
    account = await rig.make_account()
    await rig.seed([SeedMail(mail(name, subject=name, to=account.address)) for name in ("one", "two", "three")])
    await rig.settle()
    settings = build(
        {"server": {"toolsets": ["read", "organise", "folders"]}, "accounts": [account.settings]}, home=tmp_path
    )
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        await _folders(call)
        if account.capabilities.can_rename_folder:
            await _renaming(call)
        else:
            assert (await call.error("rename_folder", name="Boxes", new_name="Crates"))["code"] == "UNSUPPORTED"
        if account.capabilities.can_label:
            await _labels(call, account.capabilities.provider)
        else:
            assert (await call.error("list_labels"))["code"] == "UNSUPPORTED"


async def _folders(call: Caller) -> None:
    await call.ok("create_folder", name="Boxes")
    row = (await call.ok("list_emails"))["results"][0]
    moved = await call.ok("move_email", email_id=row["email_id"], to_mailbox="Boxes")
    assert (await call.error("delete_folder", name="Boxes"))["code"] == "CONFLICT"
    await call.ok("undo", operation_id=moved["operation_id"])

    deleted = await call.ok("delete_folder", name="Boxes")
    assert "Boxes" not in await _folder_names(call)
    await call.ok("undo", operation_id=deleted["operation_id"])
    assert "Boxes" in await _folder_names(call)
    assert (await call.error("delete_folder", name="INBOX"))["code"] == "INVALID_REQUEST"
    assert (await call.error("delete_folder", name="nowhere"))["code"] == "INVALID_REQUEST"


async def _renaming(call: Caller) -> None:
    row = (await call.ok("list_emails"))["results"][0]
    await call.ok("create_folder", name="Boxes/Small")
    moved = await call.ok("move_email", email_id=row["email_id"], to_mailbox="Boxes/Small")
    again = await call.ok("move_email", email_id=row["email_id"], to_mailbox="Boxes")

    renamed = await call.ok("rename_folder", name="Boxes", new_name="Crates")
    assert renamed["folder"]["name"] == "Crates"
    assert (await call.ok("read_email", email_id=row["email_id"]))["mailbox"] == "Crates"
    await call.ok("undo", operation_id=again["operation_id"])
    assert (await call.ok("read_email", email_id=row["email_id"]))["mailbox"] == "Crates/Small"

    assert (await call.error("rename_folder", name="Crates", new_name="Gesendet"))["code"] == "INVALID_REQUEST"
    assert (await call.error("rename_folder", name="Crates", new_name="Crates"))["code"] == "INVALID_REQUEST"
    assert (await call.error("rename_folder", name="Crates/Small", new_name="Large/Small"))["code"] == "INVALID_REQUEST"
    assert (await call.error("rename_folder", name="INBOX", new_name="Post"))["code"] == "INVALID_REQUEST"

    await call.ok("undo", operation_id=renamed["operation_id"])
    assert {"Boxes", "Boxes/Small"} <= set(await _folder_names(call))
    assert (await call.ok("read_email", email_id=row["email_id"]))["mailbox"] == "Boxes/Small"
    await call.ok("undo", operation_id=moved["operation_id"])
    await call.ok("delete_folder", name="Boxes/Small")


async def _labels(call: Caller, provider: str) -> None:
    rows = {row["subject"]: row["email_id"] for row in (await call.ok("list_emails"))["results"]}
    await call.ok("apply_label", email_id=[rows["one"], rows["two"]], label="due")

    renamed = await call.ok("rename_label", label="due", new_name="paid")
    assert (renamed["succeeded"], renamed["failed"]) == (2, 0)
    assert await _labelled(call) == {"one": ["paid"], "two": ["paid"], "three": []}
    if provider != "imap":  # its server decides how long it lists a keyword that no message has
        assert "due" not in (await call.ok("list_labels"))["labels"]
    await call.ok("undo", operation_id=renamed["operation_id"])
    assert await _labelled(call) == {"one": ["due"], "two": ["due"], "three": []}

    deleted = await call.ok("delete_label", label="due")
    assert await _labelled(call) == {"one": [], "two": [], "three": []}
    await call.ok("undo", operation_id=deleted["operation_id"])
    assert await _labelled(call) == {"one": ["due"], "two": ["due"], "three": []}
    assert (await call.error("delete_label", label="nothing"))["code"] == "NOT_FOUND"
    if provider != "gmail" and "due" not in await _folder_names(call):  # there a label is a folder
        await call.ok("create_folder", name="due")
        await call.ok("delete_label", label="due")
        assert "due" in await _folder_names(call), "an empty folder that has the label's name is none of its business"


async def _folder_names(call: Caller) -> list[str]:
    return [folder["name"] for folder in (await call.ok("list_folders"))["folders"]]


async def _labelled(call: Caller) -> dict[str, list[str]]:
    return {row["subject"]: row["labels"] for row in (await call.ok("list_emails"))["results"]}
