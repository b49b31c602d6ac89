"""The floor of a mail tool: the SDK, one SQLite file, three queries. No accounts, handles, cleaning or query language.

python bench/floor_server.py MAILBOX.db
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from email import message_from_bytes
from email.message import Message

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


@server.tool()
def read_email(email_id: str) -> str:
    """The text part of a mail, as the standard library finds it."""
    (packed, content), *_ = mailbox.execute("SELECT packed, content FROM raw WHERE number = ?", (int(email_id),))
    mail = message_from_bytes(zlib.decompress(content) if packed else content)
    text = next((part for part in mail.walk() if part.get_content_type() == "text/plain"), Message())
    return (text.get_payload(decode=True) or b"").decode(text.get_content_charset("utf-8"), "replace")


if __name__ == "__main__":
    server.run()
