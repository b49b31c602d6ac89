"""Folder names as older IMAP servers store and send them: modified UTF-7 (RFC 3501, 5.1.3)."""

from __future__ import annotations

import re
from base64 import b64decode

_ENCODED = re.compile(r"&([A-Za-z0-9+,]*)-")


def decoded_name(name: str) -> str:
    """Invalid input is returned unchanged."""

    def decoded(match: re.Match[str]) -> str:
        letters = match[1].replace(",", "/")
        try:
            return b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-16-be") if letters else "&"
        except ValueError:
            return match[0]

    return _ENCODED.sub(decoded, name)
