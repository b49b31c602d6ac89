"""The signature of an identity below what its owner wrote: in both versions, above a quote, and only once."""

from __future__ import annotations

import re
from html import escape

from postroom.mime.write.compose import plain_reading
from postroom.model.draft import Identity
from postroom.service.gateway import Account, Gateway

_DISTINCT = 20  # characters: a shorter signature, such as a name, may occur in any text
_END_OF_BODY = re.compile(r"</body\s*>", re.IGNORECASE)
_SEPARATOR = "-- \n"  # RFC 3676: mail readers recognize what follows as a signature


async def signed(
    gateway: Gateway,
    account: Account,
    identity: Identity,
    text: str,
    html: str,
    *,
    wanted: bool = True,
    is_quoted_below: bool = False,
) -> tuple[str, str]:
    """Text and HTML with the identity's signature, where the dialect, the account and the caller want one. It is added
    below words, never in their place, and not where its author put it already."""
    is_on = wanted and gateway.settings.traits.adds_signature and account.settings.add_signature
    if not is_on or not (identity.signature_text or identity.signature_html):
        return text, html
    return await gateway.in_thread(_signed, identity, text, html, is_quoted_below)


def _signed(identity: Identity, text: str, html: str, is_quoted_below: bool) -> tuple[str, str]:
    words = identity.signature_text or plain_reading(identity.signature_html)
    words = words.strip().replace("\r\n", "\n").removeprefix(_SEPARATOR)
    if not words:  # a picture
        return text, _html_signed(html, "", identity) if html.strip() else html
    if text.strip() and not _ends_with(text, words):
        separator = "" if is_quoted_below else _SEPARATOR  # a reader would take the quote for part of the signature
        text = f"{text.rstrip()}\n\n{separator}{words}"
    if html.strip() and not _ends_with(plain_reading(html), words):
        html = _html_signed(html, words, identity)
    return text, html


def _html_signed(html: str, words: str, identity: Identity) -> str:
    signature = identity.signature_html or escape(words).replace("\n", "<br>\n")
    block = f"<br>\n<div>{signature}</div>"
    end = max((found.start() for found in _END_OF_BODY.finditer(html)), default=len(html))
    return f"{html[:end]}{block}{html[end:]}"


def _ends_with(text: str, words: str) -> bool:
    """Whether it is there already, however its lines are broken; one that is distinctive may be followed by more."""
    said, signature = (" ".join(part.split()) for part in (text, words))
    return said.endswith(signature) or (len(signature) >= _DISTINCT and signature in said)
