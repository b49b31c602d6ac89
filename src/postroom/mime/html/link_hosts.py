"""Where the links of a message really lead: every host that its text or its HTML names, in wire form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from urllib.parse import parse_qsl, unquote

from postroom.mime.html.links import real_host
from postroom.mime.lookalike import plain_twin
from postroom.mime.visible import guarded
from postroom.model.address import domain_key

_MAX_HOST = 255
_URL = re.compile(r"(?:(?:https?|ftp):[/\\]{2,}|\bwww\.)[^\s<>\"'`()\[\]{}]+", re.IGNORECASE)
# The part before an @ may contain characters that would otherwise end a link.
_NAMED_URL = re.compile(r"(?:https?|ftp):[/\\]{2,}[^\s<>\"/\\?#]*@([^\s<>\"'`()\[\]{}]+)", re.IGNORECASE)
_BARE = re.compile(r"(?<=[\"'(=])[/\\]{2}[\w-]+(?:\.[\w-]+)+")  # in styles, comments and lists of images
_MAILTO = re.compile(r"\s*mailto:([^?]*)(?:\?(.*))?", re.IGNORECASE | re.DOTALL)
_ANY_SLASHES = re.compile(r"(?:(?:https?|ftp):[/\\]*|[a-z][a-z0-9+.-]*:[/\\]{2,}|[/\\]{2,})", re.IGNORECASE)
_ADDRESSES = ("href", "src", "action", "formaction", "background", "poster", "cite", "data", "longdesc", "xlink:href")


def hosts(text: str, html: str) -> tuple[str, ...]:
    """Each once, in order of occurrence. Comments, styles and hidden parts of the HTML count like the rest."""
    found = chain(_in_text(text), _in_markup(html), _in_text(html), map(_host, _BARE.findall(html)))
    return tuple(dict.fromkeys(_shown(host) for host in found if host))


def _in_text(text: str) -> Iterator[str]:
    for found in chain(_URL.findall(text), (f"https://{rest}" for rest in _NAMED_URL.findall(text))):
        url = found.rstrip(".,;:!?")
        yield _host(url if ":" in url[:6] else f"https://{url}")


def _in_markup(html: str) -> Iterator[str]:
    """How a mail client reads the attributes: entities resolved, a leading ``//`` taken as a web address."""
    if "=" not in html:
        return
    from turbohtml import parse

    document = parse(html, positions=False, allow_declarative_shadow_roots=False)
    for name in _ADDRESSES:
        selector = name.replace(":", r"\:")
        for element in document.select(f"[{selector}]"):
            yield _host(str(element.attr(name) or ""))


def _host(url: str) -> str:
    """With any scheme and any number of slashes: mail clients do not count them."""
    mailto = _MAILTO.match(url)
    if mailto:
        more = [value for name, value in parse_qsl(mailto[2] or "") if name.lower() in ("to", "cc", "bcc")]
        return f"mailto:{','.join(filter(None, [mailto[1], *more]))}"
    url = re.sub(r"[\s\x00-\x1f]+", "", url)
    slashes = _ANY_SLASHES.match(url)
    host = real_host(f"https://{url[slashes.end() :]}") if slashes else ""
    return (real_host(f"https://{unquote(host)}") or host) if "%" in host else host


def _shown(host: str) -> str:
    twin = plain_twin(domain_key(host))
    return guarded(host[:_MAX_HOST]) + (f" (looks like {twin[:_MAX_HOST]})" if twin else "")
