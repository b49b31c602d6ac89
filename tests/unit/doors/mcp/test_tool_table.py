from __future__ import annotations

from postroom.doors.mcp import tool_table


def test_the_table_has_a_row_for_each_tool_with_its_first_sentence_and_what_it_may_change() -> None:
    lines = tool_table.render().splitlines()

    assert lines[1] == "|---|---|---|---|"
    assert "| read | `list_emails` | List the emails in a folder, newest first. | reads |" in lines
    assert "| organise | `delete_email` | Move emails to the trash. | removes or overwrites, safe to repeat |" in lines
    assert len({line.count("|") for line in lines}) == 1
