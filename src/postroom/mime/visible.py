"""Text that is about to be sent, or is shown on a terminal, with nothing in it that a reader would miss.

A character that is invisible, changes the reading direction or controls a terminal is shown as ``⟨U+202E⟩``. The
brackets themselves are shown as ``⟨U+27E8⟩``, so that no text can imitate such a mark. Only the display changes: the
bytes that are sent are the author's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape

from postroom.mime.clean import EMOJI, JOINING
from postroom.mime.lookalike import mixes_scripts, plain_twin, twin_of
from postroom.model.address import ascii_domain, domain_key
from postroom.model.characters import code_of, is_address_sign, is_hidden, spelt_out

_PICTURE = EMOJI.removeprefix("#*0-9")
# Joiners that some scripts need, and those within emoji.
_KEPT = re.compile(
    rf"(?<=[{JOINING}])[\u200c\u200d](?=[{JOINING}])|(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])"
    rf"|(?<=[{_PICTURE}])[\ufe0e\ufe0f]|(?<=[#*0-9])\ufe0f(?=\u20e3)"
)
_IN_LINE = re.compile(r"([^ -~])\1*")
_IN_TEXT = re.compile(r"([^ -~\n\t])\1*")
_BLANKS = re.compile("[^\\S\n]{3,}")
_WIDE_BLANKS = re.compile("[^\\S\n]{40,}")
_EMPTY_LINES = re.compile("\n(?:[^\\S\n]*\n){5,}")
_ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z]{2,31});")
_WORD = re.compile(r"\w+")
_AT_HOME = frozenset("ıɩʋɣªº")  # Turkish, African and Romance words mix these with plain letters


def visible_line(text: str) -> str:
    """A subject, a file name, a display name: on one line, with look-alike letters inside plain words marked too."""
    if text.isascii() and text.isprintable() and "   " not in text:
        return text
    marked = guarded(_WORD.sub(_without_strangers, _own_brackets(text)))
    return _BLANKS.sub(lambda run: f"⟨{len(run[0])} spaces⟩", marked)


def visible_text(text: str) -> str:
    """A body: line breaks, tabs and typographic spaces stay, unless they push words out of sight."""
    return _squeezed(marked(text.replace("\r\n", "\n")))


def marked(text: str) -> str:
    return _IN_TEXT.sub(_mark_in_text, _own_brackets(text))


def marked_html(html: str) -> str:
    """HTML source with hidden characters marked before it is parsed, including those written as entities."""
    return marked(_ENTITY.sub(_mark_entity, html.replace("\r\n", "\n")))


def visible_reading(text: str) -> str:
    """Text made from `marked_html`: its marks stay as they are."""
    return _squeezed(_IN_TEXT.sub(_mark_in_text, text))


def guarded(text: str) -> str:
    """One line that cannot move a cursor or hide a word, for any input; existing marks stay as they are."""
    return text if text.isascii() and text.isprintable() else _IN_LINE.sub(_mark_in_line, text)


def visible_name(name: str) -> str:
    """A display name, with every character marked that could make it pass for an address."""
    if name.isascii() and set("@<>").isdisjoint(name):
        return visible_line(name)
    return "".join(code_of(char) if is_address_sign(char) and char not in "⟨⟩" else char for char in visible_line(name))


@lru_cache(maxsize=4096)  # the same few correspondents recur
def visible_email(email: str) -> str:
    """``sam@bücher.example [xn--bcher-kva.example]``: non-ASCII letters with their ASCII form.

    The domain is shown in lower case, where I and l differ.
    """
    local, at, domain = email.rpartition("@")
    shown = spelt_out(f"{local}{at}{domain.lower() if at else domain}")
    spelt = "" if email.isascii() else _plain_spelling(local, domain)
    notes = ", ".join(note for note in (spelt, _pretence(local, domain)) if note and note != shown)
    return f"{shown} [{notes}]" if notes else shown


def named(name: str, email: str) -> str:
    """A name made visible, and the address after it."""
    return f"{name} <{visible_email(email)}>" if name and name != email else visible_email(email)


def _plain_spelling(local: str, domain: str) -> str:
    plain = _spelt(domain) if any(map(is_hidden, domain)) else ascii_domain(domain_key(domain))
    return plain if local.isascii() else f"{_spelt(local)}@{plain}"


def _pretence(local: str, domain: str) -> str:
    readable = domain_key(domain)
    twins = twin_of(local), plain_twin(readable)
    if any(twins):
        return f"looks like {twins[0] or _spelt(local)}@{twins[1] or ascii_domain(readable)}"
    return "mixes alphabets" if mixes_scripts(readable) or mixes_scripts(local) else ""


def _own_brackets(text: str) -> str:
    return re.sub("[⟨⟩]", lambda bracket: code_of(bracket[0]), text)


def _without_strangers(word: re.Match[str]) -> str:
    """Letters that look like plain ones, in a word that has plain ones too."""
    text = word[0]
    if text.isascii() or not any(char.isascii() and char.isalpha() for char in text):
        return text
    return "".join(
        code_of(char) if char.isalpha() and char not in _AT_HOME and twin_of(char) else char for char in text
    )


def _squeezed(text: str) -> str:
    text = _WIDE_BLANKS.sub(lambda run: f"⟨{len(run[0])} spaces⟩", text)
    return _EMPTY_LINES.sub(lambda run: f"\n⟨{run[0].count(chr(10)) - 1} empty lines⟩\n", text)


def _mark_entity(entity: re.Match[str]) -> str:
    """The character itself if it is a hidden one; every other entity unchanged."""
    char = unescape(entity[0])
    return char if len(char) == 1 and is_hidden(char) and not char.isspace() else entity[0]


def _mark_in_line(run: re.Match[str]) -> str:
    return _mark(run) if is_hidden(run[1]) and not _KEPT.match(run.string, run.start()) else run[0]


def _mark_in_text(run: re.Match[str]) -> str:
    return run[0] if run[1].isspace() and run[1] not in _BREAKS else _mark_in_line(run)


_BREAKS = frozenset("\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def _mark(run: re.Match[str]) -> str:
    times = len(run[0])
    return code_of(run[1]) if times == 1 else f"⟨U+{ord(run[1]):04X} ×{times}⟩"


def _spelt(text: str) -> str:
    return "".join(char if " " <= char <= "~" else code_of(char) for char in text)
