"""Gmail's search language, the same over IMAP (X-GM-RAW) and over its API (`q`).

Its index holds whole words only. It leaves out Trash and Spam unless told, even where one of them is the open folder.
"""

from __future__ import annotations

import re

from postroom.model.words import words

ANYWHERE = "in:anywhere"
HAS_ATTACHMENT = "has:attachment"
FILENAME = "filename:"

_ENDS_A_PHRASE = re.compile('["\\\\\u201c-\u201f\u2033\uff02]')  # the language knows no way to write them within one


def phrase(value: str, operator: str = "") -> str:
    """These words in a row, behind an operator or anywhere in a mail; empty where there is no word in it."""
    bare = _ENDS_A_PHRASE.sub(" ", value).strip()
    return f'{operator}"{bare}"' if words(bare) else ""
