"""Deceptive characters: those that are invisible, and those that can be mistaken for part of an address."""

from __future__ import annotations

import unicodedata

# Blank though Unicode calls them letters, marks or symbols: fillers, joiners, selectors, the empty Braille pattern.
_BLANK = frozenset(
    [*map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x16FE4, 0x1D159))]
    + [chr(code) for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
       for code in range(first, last + 1)]
)  # fmt: skip
# In addition to the full-width and small forms that NFKC maps: circled letters, angle quotes and brackets, syllables.
_AT_SIGNS = frozenset("@＠﹫ⓐⒶ꩜")
_ADDRESS_SIGNS = _AT_SIGNS | frozenset("<>‹❮❬\u2329\u3008⟨⧼⦑˂ᐸᚲ≺\U0001d236›❯❭\u232a\u3009⟩⧽⦒˃ᐳ≻\U0001d237\U00016f3f")


def is_hidden(char: str) -> bool:
    """Controls, formats, separators except the plain space, unassigned code points, and characters without a glyph."""
    return not char.isprintable() or char in _BLANK


def code_of(char: str) -> str:
    """How a character that must not be shown is written: ``⟨U+202E⟩``."""
    return f"⟨U+{ord(char):04X}⟩"


def spelt_out(text: str) -> str:
    """The text with every hidden character written as its code, and so are the brackets of such codes."""
    return "".join(code_of(char) if char in "⟨⟩" or is_hidden(char) else char for char in text)


def is_at_sign(char: str) -> bool:
    return char in _AT_SIGNS


def is_address_sign(char: str) -> bool:
    """Reads as ``@``, ``<`` or ``>``, the characters that distinguish an address from a name."""
    return char in _ADDRESS_SIGNS or (char > "\x7f" and not set("@<>").isdisjoint(unicodedata.normalize("NFKC", char)))


def address_sign_in(name: str) -> str:
    """The first character that lets a name pass for an address; empty if there is none."""
    return next((char for char in name if is_address_sign(char)), "")


def yaml_quoted(value: str, *, plain: bool = False) -> str:
    """A YAML double-quoted scalar on one line; `plain` leaves no letter that could be taken for another."""
    return '"' + "".join(_yaml_escaped(char, plain) for char in value) + '"'


def _yaml_escaped(char: str, plain: bool) -> str:
    if char in '\\"':
        return "\\" + char
    if is_hidden(char) or (plain and not char.isascii()):
        return f"\\U{ord(char):08x}"
    return char
