"""The prefixes that mail programs put before the subject of a reply or forward, in many languages."""

from __future__ import annotations

import re

_REPLY_WORDS = "re|aw|antw|antwort|sv|vs|vá|odp|ynt|rif|res|réf|rép|отв|ответ|回复|答复|回覆|返信|답장"
# "VS" is a reply in Finnish and a forward in Danish and Norwegian. It counts as a forward, where nothing is folded: a
# Finnish reply shows its history again, while a Danish forward taken for a reply would lose what was forwarded.
_FORWARD_WORDS = "fw|fwd|wg|tr|rv|vb|vl|vs|pd|enc|i|doorst|i̇lt|ilt|пересл|转发|轉寄|転送|전달"
_COUNT = r"(?:\[\d{1,4}\]|\(\d{1,4}\)|\^\d{1,4})?"
REPLY_PREFIX = re.compile(rf"(?:\s*(?:{_REPLY_WORDS})\s?{_COUNT}\s?[:：])+\s*", re.IGNORECASE)
FORWARD_PREFIX = re.compile(rf"(?:\s*(?:{_FORWARD_WORDS})\s?{_COUNT}\s?[:：])+\s*", re.IGNORECASE)
_LIST_TAG = re.compile(r"(?:\s*\[[^\[\]]{0,80}\])*")


def is_forward_subject(subject: str) -> bool:
    """Whether the last step was a forward: ``Fwd: Re: x`` is a forward, ``Re: Fwd: x`` a reply to one."""
    start = subject[:300]
    tag = _LIST_TAG.match(start)
    return bool(FORWARD_PREFIX.match(start[tag.end() :] if tag else start))


def bare_subject(subject: str) -> str:
    """Without any reply and forward prefixes."""
    bare = subject[:1000]
    while found := REPLY_PREFIX.match(bare) or FORWARD_PREFIX.match(bare):
        bare = bare[found.end() :]
    return bare.strip()
