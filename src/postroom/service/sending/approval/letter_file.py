"""The approval file: the whole message, in a form that reads the same in an editor, rendered, and in a terminal."""

from __future__ import annotations

import re
from datetime import datetime

from postroom.service.sending.letter import Letter, as_lines, excerpt, facts, joined, letter_of
from postroom.service.sending.order import Order
from postroom.store.vault.approval_file import ApprovalFile, refuse_endless

_INSTRUCTIONS = (
    "In the vault: to approve, set `status: approved` at the top of this file and move it to `Approved`. To reject, "
    "move it to `Rejected`."
)


def pending_file(order: Order, created: datetime, expires: datetime) -> ApprovalFile:
    """InvalidRequest where the file would be too long to be read back from the vault, and so never be approved."""
    file = ApprovalFile(
        type=order.kind,
        status="pending",
        action_type=order.tool,
        to=tuple(address.email for address in order.draft.recipients),
        thread_id=order.draft.threading.thread_ref if order.kind == "email_reply" else "",
        subject=order.draft.subject,
        created=created.isoformat(timespec="seconds"),
        expires=expires.isoformat(timespec="seconds"),
        content_sha256=order.digest,
        body=_markdown(letter_of(order)),
    )
    refuse_endless(file)
    return file


def _markdown(letter: Letter) -> str:
    """All user content is inside fences, where it cannot become structure."""
    original = letter.original
    parts = [
        f"# {letter.question}",
        _INSTRUCTIONS,
        _fenced("\n".join(as_lines(facts(letter)))),
        *_section(f"Text, {letter.chars[0]} characters", letter.text),
        *_section("HTML, as its readers see it", letter.reading),
        *_section(f"HTML, {letter.chars[1]} characters of source", letter.html),
        *_section("The message being replied to, as text", joined(letter.quoted, *excerpt(letter.quoted))),
        *_section("The forwarded message, as text", joined(original.text, *excerpt(original.text)) if original else ""),
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}", _fenced(text)] if text else []


def _fenced(text: str) -> str:
    """A fence longer than any in the text, so that the text cannot step out of it."""
    longest = max(["``", *re.findall(r"`+", text)], key=len)
    fence = longest + "`"
    return f"{fence}\n{text}\n{fence}"
