"""Who really sent a message, as far as its headers tell: authentication results and the usual disguises.

Results are taken from one Authentication-Results header only (RFC 8601): the topmost, or the topmost with the name of
a server the operator trusts. Anyone can write such a header further down, and if a server adds none, the sender's is
the topmost: without a trusted name a good result is only a claim, and reported as one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from postroom.mime.lookalike import imitated, is_within, mixes_scripts, organisation, shown_domain
from postroom.mime.read.addresses import read_addresses
from postroom.model.address import Address
from postroom.model.characters import is_at_sign

# Nothing else of an untrusted header is repeated.
_RESULTS = frozenset(
    ("none", "pass", "fail", "softfail", "hardfail", "neutral", "policy", "temperror", "permerror", "bestguesspass")
)
_GOOD = frozenset(("pass", "bestguesspass"))
_METHOD = re.compile(r"\s*(?P<method>spf|dkim|dmarc)(?:\s*/\s*\d+)?\s*=\s*(?P<result>[a-z]+)", re.IGNORECASE)
_MARK = re.compile(r'\\.|["()]', re.DOTALL)
_EMAIL_IN_NAME = re.compile(r"[\w.+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}")
_MAX_HEADER = 10_000


@dataclass(frozen=True, slots=True)
class Facts:
    """`spf`, `dkim`, `dmarc` are RFC 8601 results, empty if unknown, or a claimed pass; warnings are sentences."""

    spf: str = ""
    dkim: str = ""
    dmarc: str = ""
    warnings: tuple[str, ...] = ()


def judge(
    headers: Mapping[str, tuple[str, ...]],
    sender: Address,
    reply_to: Sequence[Address],
    own_domains: Collection[str],
    *,
    trusted: str = "",
) -> Facts:
    """`headers` in the order of the message; `trusted` is the authserv-id of the receiving server."""
    found = _results(headers.get("authentication-results", ()), trusted)
    spf, dkim, dmarc = (found.get(method, "") for method in ("spf", "dkim", "dmarc"))
    warnings = (
        *_failed(spf, dkim, dmarc, shown_domain(sender.domain)),
        *_disguised(sender, own_domains),
        *_other_senders(sender, headers.get("from", ())),
        *_other_name(sender),
        *_other_reply(sender, reply_to),
    )
    return Facts(_told(spf, trusted), _told(dkim, trusted), _told(dmarc, trusted), warnings)


def _told(result: str, trusted: str) -> str:
    """Nobody forges a failure."""
    return f"{result} (claimed)" if result in _GOOD and not trusted else result


def _results(headers: Sequence[str], trusted: str) -> dict[str, str]:
    for header in headers:
        server, *claims = _without_comments(header[:_MAX_HEADER]).split(";")
        if not trusted or server.lower().split()[:1] == [trusted.lower()]:
            return _best(claims)
    return {}


def _best(claims: Sequence[str]) -> dict[str, str]:
    """A message may have several signatures: one valid one is enough."""
    found: dict[str, str] = {}
    for claim in claims:
        match = _METHOD.match(claim)
        if match and match["result"].lower() in _RESULTS:
            method, result = match["method"].lower(), match["result"].lower()
            if result == "pass" or method not in found:
                found[method] = result
    return found


def _without_comments(header: str) -> str:
    """Comments and quoted reasons are removed: a ``;`` inside them is not a separator. Unclosed ones stay."""
    kept, end = [], 0
    for start, after in sorted(_comments(header)):
        if start >= end:
            kept.append(header[end:start])
            end = after
    return " ".join([*kept, header[end:]])


def _comments(header: str) -> Iterator[tuple[int, int]]:
    """Where each begins and ends, including nested ones."""
    marks = [mark for mark in _MARK.finditer(header) if len(mark[0]) == 1]
    quotes = [mark for mark in marks if mark[0] == '"']
    unclosed = quotes[-1] if len(quotes) % 2 else None
    opened: list[int] = []
    quoted = -1
    for mark in marks:
        if mark[0] == '"' and mark is not unclosed:
            if quoted >= 0:
                yield quoted, mark.end()
            quoted = mark.start() if quoted < 0 else -1
        elif quoted < 0 and mark[0] == "(":
            opened.append(mark.start())
        elif quoted < 0 and mark[0] == ")" and opened:
            yield opened.pop(), mark.end()


def _failed(spf: str, dkim: str, dmarc: str, domain: str) -> list[str]:
    if dmarc == "pass":
        return []
    if dmarc == "fail":
        return [f"DMARC failed: this message may not come from {domain}."]
    if dkim != "pass" and spf in ("fail", "hardfail", "softfail"):
        return [f"SPF failed and no DKIM signature is valid: this message may not come from {domain}."]
    return ["The DKIM signature is invalid: this message may have been changed."] if dkim == "fail" else []


def _disguised(sender: Address, own_domains: Collection[str]) -> list[str]:
    shown = shown_domain(sender.domain)
    if likeness := imitated(sender.domain, own_domains):
        return [f"The sender's domain {shown} looks like {likeness} but is a different domain."]
    if mixes_scripts(sender.domain):
        return [f"The sender's domain {shown} mixes letters of different scripts, as forged domains do."]
    return []


def _other_senders(sender: Address, named: Sequence[str]) -> list[str]:
    """Of several, one is shown here and maybe another elsewhere; DMARC says nothing about which it judged."""
    found = read_addresses(", ".join(named)[:_MAX_HEADER])
    other = next((address for address in found if "@" in address.email and address.key != sender.key), None)
    if other is None:
        return []
    return [
        f"The message names another sender, too: {_shown_email(other.email)}. The sender checks may be about that one."
    ]


def _other_name(sender: Address) -> list[str]:
    for found in _EMAIL_IN_NAME.findall("".join(map(_as_at, sender.name[:1000]))):
        if Address(found).key != sender.key:
            real = _shown_email(sender.email)
            return [f"The sender's name shows the address {_shown_email(found)}, but the message comes from {real}."]
    return []


def _as_at(char: str) -> str:
    """Characters that make a name look like an address, replaced by those they resemble."""
    return "@" if is_at_sign(char) else char


def _other_reply(sender: Address, reply_to: Sequence[Address]) -> list[str]:
    for address in reply_to:
        if sender.domain and address.domain and not _are_related(address.domain, sender.domain):
            other, own = _shown_email(address.email), shown_domain(sender.domain)
            return [f"A reply would go to {other}, at a different domain than the sender's ({own})."]
    return []


def _are_related(one: str, other: str) -> bool:
    return is_within(one, organisation(other)) or is_within(other, organisation(one))


def _shown_email(email: str) -> str:
    """Non-ASCII letters spelled out, so that look-alikes are visible."""
    local, _, domain = email.rpartition("@")
    return f"{local[:64].encode('ascii', 'backslashreplace').decode()}@{shown_domain(domain)}"
