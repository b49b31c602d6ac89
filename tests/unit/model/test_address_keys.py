"""Keys of internationalised domains: one for one domain, never one for two. IDNA's own rules are the measure."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.address import Address, ascii_domain, check_email, domain_key
from postroom.model.errors import InvalidRequest

idna = pytest.importorskip("idna", reason="the package idna is the measure here; it comes with the HTTP client")

LETTERS = st.characters(categories=["L", "M", "N"], max_codepoint=0x2FFFF)
LABELS = st.text(LETTERS, min_size=1, max_size=12)
A_LABELS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20).map("xn--{}".format)


@pytest.mark.parametrize(
    ("fake", "victim"),
    [
        ("xn--example-", "example"),
        ("xn--Example-", "example"),
        ("xn--fass-", "fass"),
        ("xn--strae-upa", "straße"),  # its capital
        ("xn--" + "BÜCHER".encode("punycode").decode(), "bücher"),
        ("xn--" + "bu\u0308cher".encode("punycode").decode(), "bücher"),  # decomposed
        ("xn--" + "ｅxample".encode("punycode").decode(), "example"),  # full width
        ("xn--" + "exa\u200dmple".encode("punycode").decode(), "example"),  # a joiner
        ("xn--" + "exa\ufe0fmple".encode("punycode").decode(), "example"),  # a variation selector
        ("xn--" + "faß".encode("punycode").decode(), "fass"),
        ("xn--" + "οδός".encode("punycode").decode(), "οδόσ"),
        ("xn--bcher-kva-", "bücher"),
        ("xn--bcher-kvaa", "bücher"),
        ("xn--0", "0"),
        ("xn---", "-"),
    ],
)
def test_no_made_up_label_has_the_key_of_a_true_one(fake: str, victim: str) -> None:
    assert domain_key(f"{fake}.example") != domain_key(f"{victim}.example")
    assert Address(f"a@{fake}.example").key != Address(f"a@{victim}.example").key


@pytest.mark.parametrize("label", ["bücher", "faß", "οδός", "例え", "हिन्दी", "пример", "مثال", "ñandú-1", "i̇x"])
def test_both_forms_of_one_label_share_a_key_in_any_case(label: str) -> None:
    wire = ascii_domain(f"{label}.example")
    assert wire == f"{idna.alabel(label).decode()}.example"
    assert domain_key(wire) == domain_key(wire.upper()) == domain_key(f"{label}.example") == f"{label}.example"


def test_a_capital_sigma_is_one_letter_wherever_it_stands() -> None:
    assert domain_key("ΟΔΟΣ.gr") == domain_key("ΟΔΟΣ.GR") == idna.uts46_remap("ΟΔΟΣ.gr") == "οδοσ.gr"
    assert domain_key("οδος.gr") != domain_key("οδοσ.gr")


@pytest.mark.parametrize(
    "domain",
    ["exa\ufe0fmple.com", "exa\u034fmple.com", "exa\u115fmple.com", "ᾳ.example", "\u0301x.example", "ⅷ.example"],
)
def test_what_a_resolver_would_change_is_no_domain_to_write_to(domain: str) -> None:
    with pytest.raises(InvalidRequest):
        check_email(f"a@{domain}")


def test_no_letter_that_is_accepted_means_another_one_to_a_resolver() -> None:
    """Every character there is: what may stand in a domain is mapped to its key and to nothing else."""
    for code in range(0x80, sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char)[0] not in "LMN":
            continue
        domain = f"a{char}b.example"
        try:
            check_email(f"x@{domain}")
            mapped = idna.uts46_remap(domain)
        except (InvalidRequest, idna.IDNAError):
            continue
        assert mapped == domain_key(domain) == domain_key(ascii_domain(mapped)), f"U+{code:04X}"


@pytest.mark.parametrize("local", ["\u212aevin", "ｋevin", "\u212bsa", "ⅿallory", "jose\u0301", "ﬁona"])
def test_what_a_mail_server_may_take_for_another_name_is_no_local_part_to_write_to(local: str) -> None:
    with pytest.raises(InvalidRequest):
        check_email(f"{local}@example.com")


def test_no_local_part_that_is_accepted_has_the_key_of_a_plain_one() -> None:
    """Every character there is: none of them stands for an ASCII letter, or for one written otherwise."""
    for code in range(0x80, sys.maxunicode + 1):
        email = f"a{chr(code)}b@example.com"
        try:
            check_email(email)
        except InvalidRequest:
            continue
        key = Address(email).key
        assert not key.isascii(), f"U+{code:04X}"
        assert unicodedata.normalize("NFKC", key) == key, f"U+{code:04X}"


@given(A_LABELS)
def test_a_label_is_decoded_only_where_idna_agrees(label: str) -> None:
    key = domain_key(label)
    if key == label:
        return
    assert ascii_domain(key) == label
    assert idna.uts46_remap(key) == key


@given(LABELS)
def test_the_two_forms_of_whatever_is_accepted_share_a_key(label: str) -> None:
    domain = f"{label}.example"
    try:
        check_email(f"a@{domain}")
    except InvalidRequest:
        return
    key = domain_key(domain)
    assert domain_key(ascii_domain(key)) == domain_key(key) == key


@given(A_LABELS | LABELS, A_LABELS | LABELS)
def test_two_labels_with_one_key_are_one_name_on_the_wire(one: str, other: str) -> None:
    if domain_key(one) == domain_key(other):
        assert ascii_domain(domain_key(one)).lower() == ascii_domain(domain_key(other)).lower()
    if one.isascii() and other.isascii() and one.lower() != other.lower():
        assert domain_key(one) != domain_key(other)
