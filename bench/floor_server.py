"""The floor of a mail tool: the SDK, one SQLite file, a query per tool. No accounts, handles, cleaning or query
language; what is read is the text as it was indexed.

python bench/floor_server.py MAILBOX.db
"""

from __future__ import annotations

import sqlite3
import sys
import zlib

from mcp.server.mcpserver import MCPServer

server = MCPServer("floor", log_level="WARNING")
mailbox = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, check_same_thread=False)


@server.tool()
def list_emails(limit: int = 20, offset: int = 0) -> str:
    """The newest mails."""
    sql = "SELECT ref, date, people, subject, snippet FROM mail ORDER BY id DESC LIMIT ? OFFSET ?"
    return "\n".join(map(str, mailbox.execute(sql, (limit, offset)).fetchall()))


@server.tool()
def search_emails(query: str, limit: int = 20) -> str:
    """The newest mails with a word."""
    found = mailbox.execute(
        "SELECT ref, date, people, mail.subject, snippet FROM words CROSS JOIN mail ON mail.id = words.rowid "
        "WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?",
        (query, limit),
    )
    return "\n".join(map(str, found.fetchall()))


@server.tool()
def get_thread(email_id: str) -> str:
    """The conversation of a mail."""
    found = mailbox.execute(
        "SELECT ref, date, people, subject, snippet FROM mail "
        "WHERE thread = (SELECT thread FROM mail WHERE ref = ?) ORDER BY id",
        (email_id,),
    )
    return "\n".join(map(str, found.fetchall()))


@server.tool()
def read_email(email_id: str) -> str:
    """One mail."""
    *head, words = mailbox.execute(
        "SELECT date, people, subject, body FROM mail JOIN mail_text USING (id) WHERE ref = ?", (email_id,)
    ).fetchone()
    return f"{head}\n{zlib.decompress(words).decode()}"


if __name__ == "__main__":
    server.run()
