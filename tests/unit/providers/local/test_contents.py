from __future__ import annotations

from base64 import encodebytes
from random import Random

import pytest

from postroom.providers.local.contents import pack, unpacked

HEAD = b"Subject: report\r\nContent-Transfer-Encoding: base64\r\n\r\n"
ATTACHMENT = encodebytes(Random(1).randbytes(40_000)).replace(b"\n", b"\r\n")
PROSE = b"The quick brown fox jumps over the lazy dog. " * 400


@pytest.mark.parametrize(
    ("raw", "share"),
    [(HEAD + ATTACHMENT, 0.79), (HEAD + PROSE, 0.1), (ATTACHMENT[:900] + PROSE, 0.2), (b"short", 1.0), (b"", 1.0)],
)
def test_what_is_packed_is_smaller_and_comes_back_byte_for_byte(raw: bytes, share: float) -> None:
    packed = pack(raw)
    assert unpacked(packed.is_compressed, packed.content) == raw
    assert len(packed.content) <= share * len(raw)
