"""One cleaner for all text from messages: what a person cannot see, a model does not read either.

Removed: controls and terminal escapes, direction marks and overrides, zero-width characters, fillers, tag characters,
variation selectors without a base, lone surrogates. Kept: joiners in scripts that need them, and in emoji.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Letters that ZWNJ and ZWJ legitimately join: Arabic, Syriac, N'Ko, the Indic scripts, Myanmar, Khmer, Mongolian.
JOINING: Final = (
    "\u0620-\u074f\u0750-\u077f\u07c0-\u07ff\u08a0-\u08ff\u0900-\u0dff\u1000-\u109f"
    "\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa"
)
EMOJI: Final = (
    "#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)

_INVISIBLE: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"  # C0 and C1; NEL, CR and the separators are line breaks, below
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ESCAPES: Final = r"\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?"  # after the escape character
# One class first, so that the engine skips quickly to what may have to go, and only then what decides.
_REMOVED = re.compile(
    rf"[{_INVISIBLE}\u200c\u200d\ufe0e\ufe0f]"
    rf"(?:(?<=\x1b)(?:{_ESCAPES})|(?<=[{_INVISIBLE}])"
    rf"|(?<=\u200c)(?:(?<![{JOINING}]\u200c)|(?![{JOINING}]))"
    rf"|(?<=\u200d)(?:(?<![{JOINING}{EMOJI}\ufe0f]\u200d)|(?![{JOINING}{EMOJI}]))"
    rf"|(?<=[\ufe0e\ufe0f])(?<![{EMOJI}][\ufe0e\ufe0f]))"
)
_SHORTEST: Final = 8
_SPELLING = re.compile(rf"[{_INVISIBLE}\u200c\u200d\ufe0e\ufe0f]{{{_SHORTEST},}}")
# Blocks without anything to remove or change. Matching one class is 25 times faster than searching for what to remove.
_HARMLESS = re.compile(
    "[\t\n -~\u00a1-\u00ac\u00ae-\u033f\u0350-\u061b\u061d-\u114f\u1200-\u135f\u1d00-\u1fff\u2010-\u2027\u2030-\u205e"
    "\u2070-\u27ff\u2900-\u2fff\u3000-\u3163\u3165-\ud7ff\uf900-\ufb4f\uff00-\uff9f\U0001f000-\U0001faff]*"
)
_HARMLESS_ASCII: Final = bytes([9, 10, *range(32, 127)])
_LINE_BREAKS: Final = ("\r\n", "\r", "\u0085", "\u2028", "\u2029")
_SHORT = 300
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800]")


def cleaned(text: str) -> tuple[str, int]:
    """(the text without invisible characters, how many pieces were removed). Line breaks become ``\\n``."""
    if _is_harmless(text):
        return text, 0
    text = _SPACES.sub(" ", text)
    for line_break in _LINE_BREAKS:
        text = text.replace(line_break, "\n")
    removed = 0
    for _ in range(8):  # a removal may join two halves of something else to remove
        text, count = _REMOVED.subn("", text)
        removed += count
        if not count or _is_harmless(text):
            break
    return text, removed


def _is_harmless(text: str) -> bool:
    return _HARMLESS.fullmatch(_without_plain(text)) is not None


def _without_plain(text: str) -> str:
    """Its characters that are not plain ASCII: usually so few that looking at each takes no time."""
    others = text.encode("utf-8", "surrogatepass").translate(None, _HARMLESS_ASCII)
    return others.decode("utf-8", "surrogatepass")


def hidden_runs(text: str, cleaned_text: str | None = None) -> list[str]:
    """The runs of invisible characters that are long enough to spell something; each at most 1,000 long."""
    if text.isascii() or (cleaned_text is not None and len(text) - len(cleaned_text) < _SHORTEST):
        return []
    others = _without_plain(text)  # a run in the text is one in these as well
    if _HARMLESS.fullmatch(others) or not _SPELLING.search(others):
        return []
    return [found[0][:1_000] for found in _SPELLING.finditer(text)]


def clean_text(text: str) -> str:
    """Several lines: a body, a calendar's description."""
    return cleaned(text)[0]


def clean_line(text: str) -> str:
    """One line: a subject, a name, a file name, a label. Runs of spaces and line breaks become one space."""
    if text.isascii() and text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return _line(text) if len(text) <= _SHORT else _line.__wrapped__(text)


@lru_cache(maxsize=4096)  # the same few names, folders and subjects recur
def _line(text: str) -> str:
    return " ".join(cleaned(text)[0].split())


def is_longer(text: str, length: int) -> bool:
    """Whether `clean_line` makes more than that of it. Of a long text its beginning tells."""
    start = text[: 4 * length]
    if _is_harmless(start) and len(" ".join(start.split())) > length:  # then nothing behind it changes it
        return True
    return len(clean_line(text)) > length
