"""Toolset `organise` from the client's end: an answer for each mail, and a way back."""

from __future__ import annotations

from typing import Any

from tests.flows.caller import Caller, text_of


async def row_of(call: Caller, query: str) -> dict[str, Any]:
    row: dict[str, Any] = (await call.ok("search_emails", query=query))["results"][0]
    return row


async def test_one_mail_is_marked_by_its_id_alone(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    written = await call.ok("mark_email", email_id=email_id, flag="starred")

    assert (written["succeeded"], written["failed"]) == (1, 0)
    assert (await row_of(call, "from:billing"))["starred"]


async def test_many_mails_are_moved_at_once_and_their_ids_stay_valid(call: Caller) -> None:
    ids = [row["email_id"] for row in (await call.ok("list_emails", limit=10))["results"]]

    written = await call.ok("move_email", email_id=ids, to_mailbox="archive")

    assert [item["email_id"] for item in written["results"]] == ids
    assert written["succeeded"] == 10
    assert (await call.ok("list_emails", mailbox="archive"))["total_count"] == 10
    assert (await call.ok("read_email", email_id=ids[0]))["mailbox"].casefold() == "archive"


async def test_a_list_that_came_as_a_json_string_is_understood(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    assert (await call.ok("mark_email", email_id=f'["{email_id}"]', flag="read"))["succeeded"] == 1


async def test_labels_are_put_on_and_taken_off(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    await call.ok("apply_label", email_id=[email_id], label="Taxes 2026")
    assert (await row_of(call, "from:billing"))["labels"] == ["Taxes 2026"]
    await call.ok("remove_label", email_id=[email_id], label="Taxes 2026")

    assert (await row_of(call, "from:billing"))["labels"] == []


async def test_deleting_moves_to_the_trash_and_undo_brings_back(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    written = await call.ok("delete_email", email_id=email_id)
    assert (await call.ok("list_emails", mailbox="trash"))["total_count"] == 1
    undone = await call.ok("undo", operation_id=written["operation_id"])

    assert undone["succeeded"] == 1
    assert (await row_of(call, "from:billing"))["mailbox"].casefold() == "inbox"


async def test_an_operation_is_undone_once(call: Caller) -> None:
    email_id = await call.email_id("from:billing")
    operation = (await call.ok("mark_email", email_id=email_id, flag="read"))["operation_id"]
    await call.ok("undo", operation_id=operation)

    assert (await call.error("undo", operation_id=operation))["code"] == "CONFLICT"


async def test_a_new_folder_can_be_moved_to_and_undone_while_empty(call: Caller) -> None:
    made = await call.ok("create_folder", name="Projects/Aurora")
    assert made["folder"]["name"] == "Projects/Aurora"

    await call.ok("undo", operation_id=made["operation_id"])

    names = {folder["name"] for folder in (await call.ok("list_folders"))["folders"]}
    assert "Projects/Aurora" not in names


async def test_a_partial_failure_is_told_item_by_item(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    result = await call("mark_email", email_id=[email_id, "e0000000000"], flag="read")

    assert result.structured_content is not None
    good, bad = result.structured_content["results"]
    assert good == {"email_id": email_id, "ok": True}
    assert (bad["ok"], bad["error"]["code"]) == (False, "NOT_FOUND")
    assert not result.is_error
    assert "1 of 2" in text_of(result)
    assert "e0000000000: NOT_FOUND" in text_of(result)


async def test_a_batch_in_which_everything_failed_is_an_error(call: Caller) -> None:
    result = await call("delete_email", email_id="e0000000000")

    assert result.is_error
    assert result.structured_content is not None
    assert result.structured_content["failed"] == 1


async def test_a_thousand_and_one_ids_are_refused(call: Caller) -> None:
    error = await call.error("mark_email", email_id=[f"e{number:010}" for number in range(1001)], flag="read")

    assert error["code"] == "INVALID_REQUEST"
    assert "1000" in error["message"]


async def test_a_long_batch_reports_its_progress(call: Caller) -> None:
    ids = [row["email_id"] for row in (await call.ok("list_emails", limit=25))["results"]]
    reports: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, _message: str | None) -> None:
        reports.append((progress, total))

    await call.client.call_tool("mark_email", {"email_id": ids, "flag": "starred"}, progress_callback=note)

    assert reports[-1] == (25, 25)


async def test_a_folder_that_does_not_exist_is_answered_with_those_that_do(call: Caller) -> None:
    email_id = await call.email_id("from:billing")

    error = await call.error("move_email", email_id=email_id, to_mailbox="Nowhere")

    assert error["code"] == "INVALID_REQUEST"
    assert "INBOX" in error["message"].upper()
