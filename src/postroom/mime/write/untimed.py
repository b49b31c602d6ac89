"""What an answer to an invitation says, without when it says it: the same answer given again is the same content.

Its time is in the calendar part, which may be encoded, and the boundary is made of the content (`parts.multipart`).
"""

from __future__ import annotations

import binascii
import re

_BOUNDARY = re.compile(rb'^Content-Type: multipart/alternative;\s+boundary="?(=_[0-9a-f]{32})"?\r?$', re.MULTILINE)
_STAMP = re.compile(rb"(\nBEGIN:VEVENT\r\n)DTSTAMP:[0-9]{8}T[0-9]{6}Z\r\n")


def without_time(raw: bytes) -> bytes:
    """For a digest, not to be sent. Anything that `compose` would not write as an answer stays as it is."""
    head, _, body = raw.partition(b"\r\n\r\n")
    found = _BOUNDARY.search(head + b"\r\n")
    if found is None:
        return raw
    mark = b"--" + found[1]
    first, *blocks = body.removesuffix(mark + b"--\r\n").split(mark + b"\r\n")
    if first or len(blocks) != 2:
        return raw
    part, _, content = blocks[1].partition(b"\r\n\r\n")
    try:
        timed = _decoded(part, content)
    except binascii.Error:
        return raw
    untimed, stamps = _STAMP.subn(rb"\1", timed, count=1)
    return b"\r\n\r\n".join([head.replace(found[1], b""), blocks[0], part, untimed]) if stamps else raw


def _decoded(part: bytes, content: bytes) -> bytes:
    if b"Content-Transfer-Encoding: base64" in part:
        return binascii.a2b_base64(content)
    return binascii.a2b_qp(content) if b"Content-Transfer-Encoding: quoted-printable" in part else content
