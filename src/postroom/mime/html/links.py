"""Links as a model should see them: short, without trackers, and with the host they really lead to."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import count
from typing import Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from postroom.mime.clean import clean_line
from postroom.mime.limits import MAX_LINKS

_MAX_URL: Final = 60  # what an opaque link is cut to
_MAX_READABLE: Final = 120  # limit for a link made of plain words
_MAX_UNWRAPPED: Final = 3  # nested redirectors
_TOKEN_LENGTH: Final = 32
_MAX_HREF: Final = 16_000  # characters of a link that are examined
_MAX_KEPT: Final = 1_000  # characters of a link that is remembered
_CUT: Final = "…"  # ends what is not shown in full: nothing a reader needs is dropped silently
_MAX_HOST: Final = 253  # characters: longer ones do not exist
_MAX_LABEL: Final = 63  # between two dots

_SCHEMES: Final = frozenset({"http", "https", "mailto", "tel", "ftp", "geo", "sms", "xmpp", "matrix"})
_JUNK = re.compile(r"[\s\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_LONG_HOST = re.compile(r"[^/]{0,32}//[^/?#]{300}")  # no host is that long; comparing its letters is quadratic
_SCHEME = re.compile(r"([a-z][a-z0-9+.\-]*):", re.IGNORECASE)
# As nearly all of them are. `urlsplit` makes the same of them in three times the time.
_ODD: Final = r"\\\x00-\x20\x7f-\U0010ffff"
_USUAL = re.compile(
    rf"(https?)://(?P<host>[a-z0-9.\-]{{1,{_MAX_HOST}}})(/[^?#{_ODD}]*+)?(?:\?([^#{_ODD}]*+))?(?:#([^{_ODD}]*+))?"
)
_TRACKER = re.compile(
    r"(?:utm_\w+|mc_[ce]id|_hs(?:enc|mi)|__hs\w+|hs\w*tracking|mkt_tok|(?:fb|g|dc|ms|tw|y|igsh|tt)clid|igshid|vero_\w+"
    r"|oly_\w+_id|elq\w*|trk(?:email|info)?|_ke|_bta_\w+|ck_subscriber_id|sc_(?:campaign|channel|content|medium)|wt\.\w+|s_cid"
    r"|cmpid|ref_src|gbraid|wbraid|_openstat|pk_\w+|mtm_\w+)\Z",
    re.IGNORECASE,
)
_OPAQUE = re.compile(rf"[A-Za-z0-9_=%.~+\-]{{{_TOKEN_LENGTH},}}\Z")
_DIGIT = re.compile(r"\d")
_PIECE_END = re.compile(r"[/?&=#]")
_HOST_END = re.compile(r"[/?#…]")
_WORD_BREAK = re.compile(r"[-_.+]|%20")
_LOOKS_LIKE_HOST = re.compile(
    r"(?:https?://)?(?:[^\s/@]{1,60}@)?((?:[^\s./:?#@<>]{1,63}\.)+[^\W\d_]{2,24})(?:[/:?#]\S*)?\Z", re.IGNORECASE
)
# Redirectors that contain their target in clear. Only these are trusted: anyone can append ?url=https://bank.example.
_REDIRECTORS: Final = {
    "google.com": ("q", "url"),
    "l.facebook.com": ("u",),
    "lm.facebook.com": ("u",),
    "l.instagram.com": ("u",),
    "safelinks.protection.outlook.com": ("url",),
    "youtube.com": ("q",),
    "linkedin.com": ("url",),
    "slack-redir.net": ("url",),
    "steamcommunity.com": ("u", "url"),
    "out.reddit.com": ("url",),
    "t.umblr.com": ("z",),
    "vk.com": ("to",),
    "duckduckgo.com": ("uddg",),
    "exactag.com": ("url",),
    "awstrack.me": (),
    "urldefense.com": (),
    "urldefense.proofpoint.com": (),
}
_PROOFPOINT_V3 = re.compile(r"/v3/__(https?:/{1,2}.+?)__;")
_IN_PATH = re.compile(r"/(https?(?::|%3A)(?:/|%2F){2}[^/]+)", re.IGNORECASE)


def short_link(href: str) -> str:
    """What is shown for this href; empty if it must not be shown at all (script, data, a file, a fragment)."""
    return _short(href) if len(href) <= _MAX_KEPT else _short.__wrapped__(href)


@lru_cache(maxsize=512)  # a picture and the words beside it lead to the same place
def _short(href: str) -> str:
    url = _without_junk(href[:_MAX_HREF])[:4_000]
    scheme = _SCHEME.match(url)
    if scheme is None or scheme[1].lower() not in _SCHEMES:
        return ""
    if scheme[1].lower() not in ("http", "https", "ftp"):
        return _shown_without_host(url)
    link = _unwrapped(url)
    return "" if link is None else _shown(link)


def numbered_link(href: str, number: int, words: int) -> str:
    """As `short_link`, but a shortened address has its number in the message, by which the full one can be requested;
    if it is longer than its words, only the host stays."""
    shown = short_link(href)
    if not shown.endswith(_CUT):
        return shown
    scheme, has_host, rest = shown.partition("://")
    if not has_host or len(shown) <= words:
        return f"{shown}#{number}"
    return f"{scheme}://{_HOST_END.split(rest, maxsplit=1)[0]}/{_CUT}#{number}"


def whole_link(href: str) -> str:
    """All of it, as it was sent; empty if `short_link` shows nothing."""
    if not short_link(href):
        return ""
    return _without_junk(href[:_MAX_HREF]) + (_CUT if len(href) > _MAX_HREF else "")


def real_host(href: str) -> str:
    """The host a link leads to in ASCII, so that look-alike letters are visible; empty if it leads nowhere."""
    url = _without_junk(href[:_MAX_HREF])
    link = _split(url) if url[:6].lower().startswith(("http:", "https:", "ftp:")) else None
    return "" if link is None else link.host


def disguised_host(text: str, href: str) -> str:
    """The real host, if the visible text names another one; else empty."""
    text = clean_line(text[:300])
    claimed = _LOOKS_LIKE_HOST.match(text) if "." in text and " " not in text else None
    real = real_host(href) if claimed else ""
    if claimed is None or not real:
        return ""
    named = _ascii(claimed[1].lower()).removeprefix("www.")
    actual = real.removeprefix("www.")
    same = named == actual or named.endswith(f".{actual}") or actual.endswith(f".{named}")
    return "" if same else real


def _without_junk(text: str) -> str:
    return text if text.isascii() and text.isprintable() and " " not in text else _JUNK.sub("", text)


class _Link(NamedTuple):
    parts: SplitResult
    host: str  # in ASCII; the property of its parts would be computed each time


def _split(url: str) -> _Link | None:
    if usual := _USUAL.fullmatch(url):
        return _Link(SplitResult(*usual.groups("")), usual["host"])
    url = url.replace("\\", "/")
    if _LONG_HOST.match(url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = parts.hostname
    return _Link(parts, _ascii(host.lower())) if host else None


def _ascii(host: str) -> str:
    return host if host.isascii() else _spelt_out(host[:_MAX_HOST])


@lru_cache(maxsize=1024)  # one host is needed several times
def _spelt_out(host: str) -> str:
    """As in IDNA, without its list of forbidden letters, for which the codec takes five times as long."""
    plain = unicodedata.normalize("NFKC", host.casefold()).replace("。", ".")
    labels = [
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}" for label in plain.split(".")
    ]
    return ".".join(labels) if max(map(len, labels)) <= _MAX_LABEL else quote(host, safe=".-")


def _unwrapped(url: str) -> _Link | None:
    link = _split(url)
    for _ in range(_MAX_UNWRAPPED):
        target = _target(link) if link is not None else ""
        inner = _split(target) if target.lower().startswith(("http://", "https://")) else None
        if inner is None:
            break
        link = inner
    return link


def _target(link: _Link) -> str:
    parts, host = link
    known = host
    while known and known not in _REDIRECTORS:
        known = known.partition(".")[2]
    names = _REDIRECTORS.get(known)
    if names is None:
        return ""
    query = dict(parse_qsl(parts.query[:4_000])) if names else {}
    for name in names:
        if name in query:
            return query[name]
    if host == "urldefense.proofpoint.com":
        encoded = dict(parse_qsl(parts.query[:4_000])).get("u", "")
        return unquote(encoded.replace("-", "%").replace("_", "/"))
    inside = _PROOFPOINT_V3.match(parts.path) or _IN_PATH.search(parts.path)
    return unquote(inside[1]).replace(":/", "://", 1).replace(":///", "://", 1) if inside else ""


def _shown(link: _Link) -> str:
    """Scheme, host and path; the query without trackers. User names before the host are removed: they only deceive."""
    parts, host = link
    port = f":{parts.netloc.rpartition(':')[2]}" if parts.netloc.rpartition(":")[2].isdigit() else ""
    path = "" if parts.path == "/" else parts.path
    base = f"{parts.scheme.lower()}://{host}{port}{path}"
    query = _without_trackers(parts.query)
    rest = (f"?{query}" if query else "") + (f"#{parts.fragment}" if parts.fragment else "")
    whole = base + rest
    if len(whole) <= _MAX_URL or (len(whole) <= _MAX_READABLE and not _is_opaque(path + rest)):
        return whole
    return _cut(f"{parts.scheme.lower()}://{host}{port}", path, rest)


def _shown_without_host(url: str) -> str:
    """An email address, a phone number and the like. What follows the address is removed first."""
    if len(url) <= _MAX_URL:
        return url
    address, has_more, _ = url.partition("?")
    return f"{address}?{_CUT}" if has_more and len(address) < _MAX_URL else url[: _MAX_URL - 1] + _CUT


def _without_trackers(query: str) -> str:
    if not query:
        return ""
    kept = [pair for pair in query[:4_000].split("&") if not _TRACKER.match(unquote(pair.partition("=")[0]))]
    return "&".join(kept)


def _is_opaque(path: str) -> bool:
    return any(_OPAQUE.match(piece) and _is_token(piece) for piece in _PIECE_END.split(path))


def _is_token(piece: str) -> bool:
    """A slug consists of words; a token has a long unbroken run, or alternating digits and letters."""
    return max(map(len, _WORD_BREAK.split(piece))) >= 24 or len(_DIGIT.findall(piece)) > len(piece) // 4


def _cut(origin: str, path: str, rest: str) -> str:
    """`rest` is the query and the fragment."""
    kept = ""
    for segment in path.split("/")[1:]:
        if _OPAQUE.match(segment) and _is_token(segment):
            return f"{origin}{kept}/{_CUT}"
        if len(origin) + len(kept) + len(segment) >= _MAX_URL:
            room = max(0, _MAX_URL - len(origin) - len(kept) - 1)
            return f"{origin}{kept}/{segment[:room]}{_CUT}"
        kept += f"/{segment}"
    return f"{origin}{kept}{rest[:1]}{_CUT}"


LINK_IN_TEXT = re.compile(r"https?://[^\s<>\"'\])}]{3,}", re.IGNORECASE)
_URL_IN_TEXT = re.compile(r"https?://[^\s<>\"'\])}]{60,}", re.IGNORECASE)


def shorten_in_text(text: str) -> str:
    """Long links within plain text, each as `short_link` shows it; those beyond the limit are only cut."""
    if "://" not in text:
        return text
    number = count(1)

    def shortened(link: re.Match[str]) -> str:
        return (next(number) <= MAX_LINKS and short_link(link[0])) or link[0][:_MAX_URL] + _CUT

    return _URL_IN_TEXT.sub(shortened, text)
