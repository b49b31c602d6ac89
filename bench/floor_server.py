"""The floor of a mail tool: the SDK, one SQLite file, two queries. No accounts, handles, cleaning or query language.

python bench/floor_server.py MAILBOX.db
"""

from __future__ import annotations

import sqlite3
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("floor", log_level="WARNING")
mailbox = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, check_same_thread=False)


@server.tool()
def list_emails(limit: int = 20) -> str:
    """The newest mails."""
    found = mailbox.execute("SELECT ref, date, people, subject, snippet FROM mail ORDER BY id DESC LIMIT ?", (limit,))
    return "\n".join(map(str, found.fetchall()))


@server.tool()
def search_emails(query: str, limit: int = 20) -> str:
    """The newest mails with a word."""
    found = mailbox.execute(
        "SELECT ref, date, people, mail.subject, snippet FROM words CROSS JOIN mail ON mail.id = words.rowid "
        "WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?",
        (query, limit),
    )
    return "\n".join(map(str, found.fetchall()))


if __name__ == "__main__":
    server.run()
