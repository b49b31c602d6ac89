"""Characters that deceive the eye: those that cannot be seen, and those that can be taken for a part of an address."""

from __future__ import annotations

import unicodedata

# Blank though Unicode calls them letters, marks or symbols: fillers, joiners, selectors, the empty Braille pattern.
_BLANK = frozenset(
    [*map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x16FE4, 0x1D159))]
    + [chr(code) for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
       for code in range(first, last + 1)]
)  # fmt: skip
# Beside what NFKC makes of full-width and small forms: circled letters, angle quotes and brackets, syllables.
_AT_SIGNS = frozenset("@＠﹫ⓐⒶ꩜")
_ADDRESS_SIGNS = _AT_SIGNS | frozenset("<>‹❮❬\u2329\u3008⟨⧼⦑˂ᐸᚲ≺\U0001d236›❯❭\u232a\u3009⟩⧽⦒˃ᐳ≻\U0001d237\U00016f3f")


def is_hidden(char: str) -> bool:
    """Controls, formats, separators but the plain space, unassigned code points, and what is drawn as nothing."""
    return not char.isprintable() or char in _BLANK


def code_of(char: str) -> str:
    """How a character is told that must not be shown: ``⟨U+202E⟩``."""
    return f"⟨U+{ord(char):04X}⟩"


def spelt_out(text: str) -> str:
    """The text with every hidden character told by its code, and the brackets of such codes too."""
    return "".join(code_of(char) if char in "⟨⟩" or is_hidden(char) else char for char in text)


def is_at_sign(char: str) -> bool:
    return char in _AT_SIGNS


def is_address_sign(char: str) -> bool:
    """Reads as ``@``, ``<`` or ``>``, the signs that tell a name from an address."""
    return char in _ADDRESS_SIGNS or (char > "\x7f" and not set("@<>").isdisjoint(unicodedata.normalize("NFKC", char)))


def address_sign_in(name: str) -> str:
    """The first sign in a name by which it could pass for an address; empty for an honest name."""
    return next((char for char in name if is_address_sign(char)), "")
