"""Domains that imitate another: letters of other scripts, digits for letters, rn for m.

Two domains imitate each other when their skeletons are equal and they are not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from functools import lru_cache

from postroom.model.address import ascii_domain, domain_key
from postroom.model.skeleton import skeleton

# Names that forged mail uses most often.
_BRANDS = (
    *(
        "adobe",
        "amazon",
        "americanexpress",
        "apple",
        "bankofamerica",
        "booking",
        "chase",
        "coinbase",
        "dhl",
        "docusign",
    ),
    *("dropbox", "ebay", "facebook", "fedex", "github", "google", "instagram", "linkedin", "mastercard", "microsoft"),
    *("netflix", "office365", "outlook", "paypal", "santander", "slack", "spotify", "stripe", "telegram", "twitter"),
    *("usps", "visa", "wellsfargo", "whatsapp", "yahoo", "zoom"),
)
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "gob", "gov", "net", "or", "org"))  # as in example.co.uk

# Characters that look like one plain letter or digit in common fonts, each beside the one it resembles: Cyrillic,
# Greek, Latin extensions, Armenian, Cherokee, Lisu, Coptic, Canadian syllables, zeros of other scripts.
_TWINS = (
    "аaАAЬbВBсcСCԁdеeҽeЕEԌGһhНHіiꙇiӏlјjЈJкkКKІlӀlмmМMоoОOрpРPԛqгrѕsЅSтtТTѵvѴVԝwԜWхxХXуyүyУYҮYЗ3"
    "αaΑAΒBϲcϹCεeΕEηnΗHιiΙlϳjκkΚKΜMνvΝNοoσoΟOρpϱpΡPτtΤTυuΥYχxΧXγyωwΖZ"
    "ɑaƄbʙbᴄcꬲeꞙfɡgʜhıiɪiɩiᴊjᴋkʟlǀlƖlᴍmɴnᴏoᴑoᴘpʀrꜱsƽsᴛtᴜuʋuᴠvɯwᴡwʏyɣyᴢzȢ8Ʒ3"
    "քfցgհhյjլlոnռnօoՕOզqգqՏSսuՍUաwᎪAᏴBᏟCꮯcᎠDᎬEᏀGᎻHᏂhᎥiꭵiᎫJᏦKᏞLᎷMᏢPᎡRᏒRᏚSꮪsᎢTᏙVꮩvᎳWꮃwᎩYᏃZꮓz"
    "ꓮAꓐBꓚCꓓDꓰEꓝFꓖGꓧHꓙJꓗKꓲlꓡLꓟMꓠNꓳOꓑPꓣRꓢSꓔTꓴUꓦVꓪWꓫXꓬYꓜZⲟoⲞOⲣpⲢPⲥcⲤCⲎHⲔKⲘMⲚNⲦTⲬXⲨY"
    "ᗅAᗷBᑕCᗞDᖴFᕼHᒍJᒪLᗰMᑭPᖇRᑌUᐯVᕁx০O੦o୦O൦o०o૦o௦o౦o೦o๐o໐o၀oဝoჿo𐐬o𐓪o〇O"
)
_TWIN_OF = dict(zip(_TWINS[::2], _TWINS[1::2], strict=True))
_TWIN_OF |= {sign.lower(): twin.lower() for sign, twin in _TWIN_OF.items() if "\u13a0" <= sign <= "\u13ff"}  # Cherokee


def imitated(domain: str, own_domains: Collection[str]) -> str:
    """The domain that this one imitates: one of ours or that of an often forged brand; empty if none."""
    return _imitated(domain_key(domain)[:255], tuple([domain_key(name) for name in own_domains if name]))


@lru_cache(maxsize=1024)  # the same few senders recur
def _imitated(domain: str, own: tuple[str, ...]) -> str:
    if any(is_within(domain, name) for name in own):
        return ""
    for name in own:
        if is_within(skeleton(domain), skeleton(name)) or _is_prefixed(domain, name):
            return name
    label = organisation(domain).partition(".")[0]
    for brand in _BRANDS:
        if label != brand and (skeleton(label) == skeleton(brand) or _is_prefixed(domain, f"{brand}.com")):
            return f"{brand}.com"
    return ""


def mixes_scripts(domain: str) -> bool:
    """Latin beside Cyrillic or Greek in one label; Japanese and Korean mix scripts by nature and are allowed."""
    return any(_is_mixed(label) for label in domain_key(domain)[:255].split("."))


def organisation(domain: str) -> str:
    """The part of a domain that someone registered: ``mail.example.co.uk`` -> ``example.co.uk``."""
    labels = domain.split(".")
    deep = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL
    return ".".join(labels[-3 if deep else -2 :])


def is_within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def twin_of(text: str) -> str:
    """The plain letters and digits this could be read as, one by one; empty if a character resembles none."""
    if text.isascii():
        return ""
    plain = "".join(_TWIN_OF.get(char, char) for char in unicodedata.normalize("NFKC", text))
    return plain if plain.isascii() else ""


def plain_twin(domain: str) -> str:
    """The domain in plain letters that this one could be read as."""
    labels = [label if label.isascii() else twin_of(label) for label in domain.split(".")]
    return ".".join(labels) if all(labels) and not domain.isascii() else ""


def shown_domain(domain: str) -> str:
    """The domain in plain letters (``xn--``), bounded, with nothing but letters, digits, dots and hyphens."""
    return _shown_domain(domain[:255])


@lru_cache(maxsize=1024)
def _shown_domain(domain: str) -> str:
    try:
        plain = ascii_domain(domain)
    except UnicodeError:
        plain = ""
    return "".join(char for char in plain[:100] if char.isalnum() or char in ".-") or "an unknown domain"


def _is_prefixed(domain: str, name: str) -> bool:
    """``paypal.com.example.net``: the familiar name comes first, the real one last."""
    return f".{name}." in f".{domain}"


def _is_mixed(label: str) -> bool:
    if label.isascii():
        return False
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in label if char.isalpha()}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
