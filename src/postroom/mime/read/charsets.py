"""Charset labels in mail, and the codec for each: the label's superset if the web platform has one.

The table is closed on purpose: Python would also look up ``punycode``, ``unicode_escape`` and the like.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from functools import cache, lru_cache
from itertools import product
from typing import Final

_NOT_NAME = re.compile(r"[^a-z0-9]+")
_META = re.compile(rb"<meta\s[^>]{0,200}?charset\s{0,9}=[\s\"']{0,9}([\w.:-]{2,40})", re.IGNORECASE)
_META_WITHIN: Final = 4_096  # bytes; browsers read 1,024, but mail programs put much before it

# Every byte string is valid in these (or nearly so), so valid UTF-8 under such a label means that the label is wrong.
_ASCII: Final = ("ascii", "usascii", "ansix341968")
_SINGLE_BYTE: Final = {
    **dict.fromkeys(_ASCII, "cp1252"),
    "iso88591": "cp1252",
    "latin1": "cp1252",
    "l1": "cp1252",
    "latin2": "iso8859_2",
    "latin5": "cp1254",
    "latin9": "iso8859_15",
    "iso88599": "cp1254",
    "iso885911": "cp874",
    "tis620": "cp874",
    "windows874": "cp874",
    "iso88598i": "iso8859_8",
    "iso88598e": "iso8859_8",
    "iso88596i": "iso8859_6",
    "koi8": "koi8_r",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "koi8ru": "koi8_u",
    "macintosh": "mac_roman",
    "macroman": "mac_roman",
    "maccyrillic": "mac_cyrillic",
    **{f"iso8859{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows{n}": f"cp{n}" for n in range(1250, 1259)},
    **{f"cp{n}": f"cp{n}" for n in (*range(1250, 1259), 437, 850, 852, 855, 857, 858, 862, 865, 866, 874)},
    **{f"ibm{n}": f"cp{n}" for n in (437, 850, 852, 855, 857, 858, 862, 865, 866)},
}

# These have their own grammar, so the label is tried before UTF-8.
_MULTI_BYTE: Final = {
    "utf8": "utf_8",
    "utf8sig": "utf_8",
    "utf8mb4": "utf_8",
    "unicode": "utf_8",
    "gb2312": "gb18030",
    "gb231280": "gb18030",
    "euccn": "gb18030",
    "gbk": "gb18030",
    "xgbk": "gb18030",
    "cp936": "gb18030",
    "ms936": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "big5hkscs": "big5hkscs",
    "xxbig5": "big5hkscs",
    "cp950": "cp950",
    "euckr": "cp949",
    "ksc5601": "cp949",
    "ksc56011987": "cp949",
    "ksc56011989": "cp949",
    "cp949": "cp949",
    "uhc": "cp949",
    "windows949": "cp949",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "xsjis": "cp932",
    "mskanji": "cp932",
    "cp932": "cp932",
    "windows31j": "cp932",
    "eucjp": "euc_jp",
    "xeucjp": "euc_jp",
}

# ASCII bytes do not mean ASCII letters here, so not even a message without 8-bit bytes can skip the codec.
_STATEFUL: Final = {
    "iso2022jp": "iso2022_jp_ext",
    "iso2022jpms": "iso2022_jp_ext",
    "cp50220": "iso2022_jp_ext",
    "iso2022jp1": "iso2022_jp_1",
    "iso2022jp2": "iso2022_jp_2",
    "iso2022jp3": "iso2022_jp_3",
    "iso2022kr": "iso2022_kr",
    "hz": "hz",
    "hzgb2312": "hz",
    "utf7": "utf_7",
    "unicode11utf7": "utf_7",
    "utf16": "utf_16",
    "utf16le": "utf_16_le",
    "utf16be": "utf_16_be",
    "utf32": "utf_32",
    "utf32le": "utf_32_le",
    "utf32be": "utf_32_be",
}
# Japanese mail has letters under this label that its standard lacks: a circled 1, the sign of a stock company, letters
# of many names. They are where Windows has them, in its own order (so browsers read them, too).
_JAPANESE = re.compile(rb"\x1b\$[@B]")
_JAPANESE_SETS = re.compile(rb"\x1b(\$[@AB]|\$\([ACDOPQ]|\([BJI])")
_ONLY_IN: Final = {  # one of the standards, each of which has its own
    b"$A": "iso2022_jp_2",
    b"$(A": "iso2022_jp_2",
    b"$(C": "iso2022_jp_2",
    b"$(O": "iso2022_jp_3",
    b"$(P": "iso2022_jp_3",
    b"$(Q": "iso2022_jp_2004",
}
_JAPANESE_LETTERS = re.compile("[!-~\x80-\xff]+")
_CHARMAPS: Final = frozenset(_SINGLE_BYTE.values())
_SEVEN_BITS: Final = bytes(range(128)) + b"\x1a" * 128  # 8-bit bytes, which UTF-7 has none of, as SUBSTITUTE


def decode_text(data: bytes, charset: str) -> str:
    """Decode bytes with a label that may be absent, unknown or wrong. Never raises; invalid bytes become U+FFFD."""
    label = _label(charset[:60])
    if label in _STATEFUL:
        return _by_grammar(data, _STATEFUL[label])
    if data.isascii():
        return data.decode("ascii")
    if label in _MULTI_BYTE:
        return _by_grammar(data, _MULTI_BYTE[label])
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf_16", "replace")
    return _utf8_or(data, _SINGLE_BYTE.get(label, "cp1252"))


def is_ascii(charset: str) -> bool:
    """A label that many programs write when they know none."""
    return _label(charset[:60]) in _ASCII


@lru_cache(maxsize=256)  # the same few recur
def _label(charset: str) -> str:
    return _NOT_NAME.sub("", charset.lower())


def charset_in_html(data: bytes) -> str:
    """What a ``<meta>`` near the beginning says, for HTML without a charset in its headers. It was readable as ASCII,
    so it cannot be one of the charsets in which ASCII is not ASCII."""
    found = _META.search(data, 0, _META_WITHIN)
    label = found[1].decode("ascii") if found else ""
    return "" if _label(label).startswith(("utf16", "utf32", "utf7", "unicode11")) else label


def _by_grammar(data: bytes, codec: str) -> str:
    if codec != "utf_8" and _is_surely_utf8(data):
        return data.decode("utf_8").removeprefix("\ufeff")
    try:
        return data.decode(codec).removeprefix("\ufeff")
    except UnicodeError:
        if codec.startswith("iso2022_jp") and _JAPANESE.search(data):
            return _as_windows_writes_japanese(data)
        return _utf8_or(data, "cp1252" if codec == "utf_8" else codec, said=codec == "utf_8")


def _as_windows_writes_japanese(data: bytes) -> str:
    first, *more = _JAPANESE_SETS.split(data)
    pieces = [first.decode("ascii", "replace")]
    for letters, piece in zip(more[::2], more[1::2], strict=True):
        if letters in (b"$@", b"$B"):
            pieces.append(_JAPANESE_LETTERS.sub(_windows_letters, piece.decode("latin_1")))
        else:
            codec = _ONLY_IN.get(letters, "iso2022_jp_ext")
            pieces.append((b"\x1b" + letters + piece).decode(codec, "replace"))
    return "".join(pieces)


def _windows_letters(run: re.Match[str]) -> str:
    return run[0].encode("latin_1").decode("utf_16_be", "replace").translate(_letters_of_windows())


class _Letters(dict[int, str]):
    def __missing__(self, pair: int) -> str:
        return "\ufffd"


@cache
def _letters_of_windows() -> _Letters:
    """By their two bytes as one number; Shift_JIS has the same rows and cells in another place."""
    letters = _Letters()
    for row, cell in product(range(94), repeat=2):
        lead, trail = row // 2 + (0x81 if row < 62 else 0xC1), cell + (0x9F if row % 2 else 0x40)
        shifted = bytes((lead, trail + (trail >= 0x7F and not row % 2)))
        with suppress(UnicodeError):
            letters[(row + 33) << 8 | cell + 33] = shifted.decode("cp932")
    return letters


def _is_surely_utf8(data: bytes) -> bool:
    """A few letters of another charset may be valid UTF-8 by chance; half a dozen are not."""
    if data.isascii():
        return False
    try:
        text = data.decode("utf_8")
    except UnicodeDecodeError:
        return False
    return len(data) - len(text) >= 10


def _utf8_or(data: bytes, codec: str, *, said: bool = False) -> str:
    try:
        return data.decode("utf_8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        pass
    # Letters of other charsets hardly ever make a valid sequence by chance: a text with more valid sequences than
    # broken ones is UTF-8 with a few stray bytes (or truncated). Text in another charset throughout is not.
    repaired = data.decode("utf_8", "replace")
    broken = repaired.count("\ufffd")
    valid = len(repaired) - len(repaired.encode("ascii", "ignore")) - broken
    if codec == "cp1252" and valid and valid >= (broken if said else 2 * broken):
        return repaired.removeprefix("\ufeff")
    return _with_gaps(data, codec)


def _with_gaps(data: bytes, codec: str) -> str:
    """Invalid bytes become U+FFFD. Python takes a slow path for each: there may be two million, so where they can be
    told beforehand none is left to it."""
    if codec in _CHARMAPS:
        return codecs.charmap_decode(data, "strict", _characters(codec))[0]
    if codec == "utf_7":
        return data.translate(_SEVEN_BITS).decode(codec, "replace").replace("\x1a", "\ufffd")
    return data.decode(codec, "replace")


@cache
def _characters(codec: str) -> str:
    """That of each byte."""
    return bytes(range(256)).decode(codec, "replace")
