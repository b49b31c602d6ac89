"""A forward that quotes: the original's text below the comment, its files attached, its pictures where they were."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Literal

from postroom.mime.write import reply
from postroom.mime.write.inline import shown_ids
from postroom.model.draft import Draft, File
from postroom.model.message import Body, Message
from postroom.safety.limits import MAX_BODY
from postroom.service.gateway import Account, Gateway
from postroom.service.writing.files import attached_files


async def quoted_forward(gateway: Gateway, account: Account, original: Message, draft: Draft) -> Draft:
    """The HTML version goes along as a reader sees it: without scripts, trackers and hidden text."""
    text, html = await gateway.read(_both_versions, draft.text, original)
    files = await attached_files(account, original)
    return replace(draft, text=text, html=html, files=_in_their_places(html, files))


def words_to_quote(body: Body, fmt: Literal["text", "words"]) -> str:
    """Of the plain-text part, unless it says more than a reader is shown: nobody passes on what they never saw."""
    from postroom.mime.guarded import render

    rendered = render(body, fmt=fmt, keep_quoted=True)
    if rendered.warnings and body.text.strip() and body.html:
        rendered = render(replace(body, text=""), fmt=fmt, keep_quoted=True)
    return rendered.text[:MAX_BODY]


def _both_versions(comment: str, original: Message) -> tuple[str, str]:
    from postroom.mime.guarded import render

    forwarded = reply.forwarded_text(original.envelope, words_to_quote(original.body, "text"))
    text = f"{comment}\n\n{forwarded}" if comment else forwarded
    if not original.body.html:
        return text, ""
    shown = render(original.body, fmt="html", keep_quoted=True).text
    above = "\n\n".join(filter(None, [comment, reply.forwarded_text(original.envelope, "")]))
    html = f'<div style="white-space:pre-wrap">{escape(above.strip())}</div><br>{shown}'
    return text, html if len(html) <= 2 * MAX_BODY else ""


def _in_their_places(html: str, files: tuple[File, ...]) -> tuple[File, ...]:
    """What the HTML does not show is an ordinary attachment."""
    shown = shown_ids(html)
    return tuple(
        replace(file, inline=True) if file.content_id.strip("<>") in shown and file.content_id
        else replace(file, inline=False, content_id="")
        for file in files
    )  # fmt: skip
