"""Email addresses: one strict parser for what we write, one lenient value for what we received.

Python's own `parseaddr` returns alice for ``alice@example.org]<bob@example.com>``; an address that is about to
receive mail is therefore parsed by the grammar below and by nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from postroom.model.by_fields import pickled_by_fields
from postroom.model.characters import address_sign_in, is_hidden, spelt_out
from postroom.model.errors import InvalidRequest

# dot-atom of RFC 5322 plus the letters of RFC 6531; quoted local parts and IP literals are refused on purpose.
_ASCII_ATOM = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+/=?^_`{|}~-")
_ASCII_LABEL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")
_NAMED = re.compile(r'(?P<name>"(?:[^"\\]|\\.)*"|[^<>"]*)[ \t]*<(?P<email>[^<>]*)>\Z')

_OWN_LETTERS = "ßς"  # valid in IDNA2008; older rules mapped them to ss and σ
# How a local part routes mail to another host: the percent hack, bang paths, source routes, X.400 attributes, quotes,
# and the encapsulated addresses of Exchange (IMCEASMTP-mallory+40evil+2Eexample@...).
_ROUTES = re.compile(r'[%!:/@,;"\\()<>\[\]\s]|\Aimcea', re.IGNORECASE)

MAX_LOCAL, MAX_LABEL, MAX_EMAIL = 64, 63, 254  # octets


@pickled_by_fields
@dataclass(frozen=True, slots=True)
class Address:
    """One correspondent. `email` keeps its spelling; compare with `key`."""

    email: str
    name: str = ""

    @property
    def key(self) -> str:
        """The same for all spellings of one mailbox."""
        local, at, domain = self.email.rpartition("@")
        return _lowered(local) + at + domain_key(domain)

    @property
    def domain(self) -> str:
        return domain_key(self.email.rpartition("@")[2])

    @property
    def is_routed(self) -> bool:
        """Whether a mail server may read the local part as a route to another host. By default Postfix delivers
        ``mallory%evil.example@example.com`` and ``evil.example!mallory@example.com`` to evil.example, so no list of
        addresses and no earlier message says anything about such an address."""
        return _ROUTES.search(self.email.rpartition("@")[0]) is not None

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.name else self.email


def parse_address(text: str) -> Address:
    """Read ``alice@example.com`` or ``Alice <alice@example.com>``; anything else is an InvalidRequest."""
    text = text.strip(" \t")
    refuse_line_breaks(text, "address")
    named = _NAMED.match(text)
    if named is None:
        return Address(check_email(text))
    name, email = named["name"].strip(" \t"), named["email"].strip(" \t")
    if name.startswith('"'):
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    address = Address(check_email(email), name)
    if name.casefold() == email.casefold():
        return Address(email)
    if sign := address_sign_in(name):  # a name that looks like another address is how mail reaches the wrong person
        raise InvalidRequest(
            f"The name before {email[:100]} contains U+{ord(sign):04X}, which makes it look like an address. "
            "Write the name without that character, or the address alone.",
            reason="invalid_address",
            details={"field": "address"},
        )
    return address


def check_email(email: str) -> str:
    """The address itself if mail may be sent to it; InvalidRequest otherwise."""
    local, at, domain = email.rpartition("@")
    fits = len(_octets(local)) <= MAX_LOCAL and len(_octets(email)) <= MAX_EMAIL
    if not (at and fits and _is_local_part(local) and _is_domain(domain)):
        raise _invalid(email)
    return email


def domain_key(domain: str) -> str:
    """One spelling for a domain: lower case, A-labels (``xn--``) decoded to the letters they stand for.

    An invalid A-label keeps its own spelling: no two domains share a key.
    """
    low = _lowered(domain)
    return ".".join(_decoded_label(label) for label in low.split(".")) if "xn--" in low else low


def ascii_domain(domain: str) -> str:
    """The domain as sent on the wire: A-labels for labels with non-ASCII letters."""
    return ".".join(_ascii_label(label).decode() for label in domain.split("."))


def refuse_line_breaks(value: str, what: str) -> None:
    """CR, LF, NUL, other controls, lone surrogates and Unicode line breaks are refused in a header value."""
    if value.isascii() and value.isprintable():
        return
    for char in value:
        if char != "\t" and unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp"):
            raise InvalidRequest(
                f"The {what} contains a line break or control character (U+{ord(char):04X}). Remove it and try again.",
                details={"field": what},
            )


def masked(email: str) -> str:
    """``john@example.com`` -> ``j***@example.com``: enough for a person, nothing for a log reader.

    For any input, the result has that form or is ``***``.
    """
    local, _, domain = email.rpartition("@")
    return f"{local[:1] if local[:1].isalnum() else ''}***@{domain}" if _is_domain(domain) else "***"


def masked_few(addresses: Sequence[Address | str]) -> str:
    """The first five of them, for a line of the audit or an error."""
    return ", ".join(masked(one.email if isinstance(one, Address) else one) for one in addresses[:5])


def _is_local_part(local: str) -> bool:
    """Nothing that a mail server may map to another name: a Kelvin sign or a full-width letter would pass a list of
    blocked addresses, or for a person who was written to before."""
    is_stable = local.isascii() or unicodedata.normalize("NFKC", local) == local
    atoms = local.split(".")
    return is_stable and all(atom and all(char in _ASCII_ATOM or _is_letter(char) for char in atom) for atom in atoms)


def _is_domain(domain: str) -> bool:
    """At least two labels, the last not a number (that would be an IP address), nothing that a resolver would map to
    another name, such as full-width letters: a look-alike must not bypass a list of blocked domains."""
    labels = domain.split(".")
    return len(labels) >= 2 and not labels[-1].isdigit() and all(map(_is_label, labels))


def _is_label(label: str) -> bool:
    if not label or label[0] == "-" or label[-1] == "-" or len(_ascii_label(label)) > MAX_LABEL:
        return False
    if label.isascii():
        return _ASCII_LABEL.issuperset(label)
    is_stable = unicodedata.normalize("NFKC", label) == label and unicodedata.category(label[0])[0] != "M"
    return is_stable and all(char in _ASCII_LABEL or _is_letter_of_a_name(char) for char in label)


def _is_letter(char: str) -> bool:
    """A non-ASCII letter, mark or digit; never a space, an invisible or a direction-changing character."""
    return ord(char) > 0x7F and unicodedata.category(char)[0] in "LMN" and not is_hidden(char)


def _is_letter_of_a_name(char: str) -> bool:
    """A letter of which a resolver changes only the case."""
    is_kept = unicodedata.normalize("NFKC", char.casefold()) == _lowered(char)
    return _is_letter(char) and (is_kept or char in _OWN_LETTERS)


def _ascii_label(label: str) -> bytes:
    return label.encode() if label.isascii() else b"xn--" + label.encode("punycode", "replace")


def _decoded_label(label: str) -> str:
    """The letters of a valid A-label: allowed in a name, and encoded in the one canonical way."""
    if not label.startswith("xn--") or len(label) > MAX_LABEL:
        return label
    try:
        letters = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return label
    is_true = not letters.isascii() and _is_label(letters) and letters == _lowered(letters)
    return letters if is_true and _ascii_label(letters) == label.encode() else label


def _lowered(text: str) -> str:
    """lower(), not casefold(), which makes one mailbox of straße@ and strasse@; letter by letter, because lower() picks
    the form of a sigma by its neighbours, and those differ between a label and its domain."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", "".join(char.lower() for char in unicodedata.normalize("NFC", text)))


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _invalid(shown: str) -> InvalidRequest:
    return InvalidRequest(
        f"Invalid email address format: {spelt_out(shown[:100])}. Write one address like alice@example.com.",
        reason="invalid_address",
        details={"field": "address", "address": spelt_out(shown[:100])},
    )
