"""Gmail's search language, the same over IMAP (X-GM-RAW) and over its API (`q`).

Its index holds whole words only. It leaves out Trash and Spam unless asked, even where one of them is the open folder.
"""

from __future__ import annotations

import re

from postroom.model.words import words

ANYWHERE = "in:anywhere"
HAS_ATTACHMENT = "has:attachment"
FILENAME = "filename:"

_ENDS_A_PHRASE = re.compile('["\\\\\u201c-\u201f\u2033\uff02]')  # the language has no way to escape them


def phrase(value: str, operator: str = "") -> str:
    """These words in a row, after an operator or anywhere in a message; empty where it contains no word."""
    bare = _ENDS_A_PHRASE.sub(" ", value).strip()
    return f'{operator}"{bare}"' if words(bare) else ""
