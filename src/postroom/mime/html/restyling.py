"""Whether a message's HTML contains anything that may make readers see other words than those in it.

Styles can insert words, change letters by a custom font, rotate and reorder text, or hide it in more ways than
`mime.html.hidden` handles. The result depends on the mail client, so this only says that a person should look.
"""

from __future__ import annotations

import re
from html import unescape

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})\s?", re.IGNORECASE)
_STYLES = re.compile(
    r"""(?<![\w-])(?:
      content\s*:(?!\s*(?:none|normal|""|'')\s*[;}"'])
    | (?:zoom|scale|rotate|translate|transform|mask[\w-]*|unicode-bidi|writing-mode|order)\s*:
    | letter-spacing\s*:\s*-
    | position\s*:\s*(?:absolute|fixed|relative)
    | (?:row|column|wrap)-reverse
    | var\(
    ) | @import | @font-face | [{;}]\s*&[^;{}]*\{""",
    re.IGNORECASE | re.VERBOSE,
)
_STYLED = re.compile(r"<style|style\s*=", re.IGNORECASE)
_MARKUP = re.compile(r"<bdo|<link[^<>]*stylesheet|<(?:input|option|iframe|object|embed)\b[^<>]*=", re.IGNORECASE)


def may_show_other_words(html: str) -> bool:
    if _MARKUP.search(html):
        return True
    if not _STYLED.search(html):
        return False
    return _STYLES.search(_COMMENT.sub("", _ESCAPE.sub(_letter, unescape(html)))) is not None


def _letter(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16) % 0x110000)
