"""What a value may do inside a tag: complete an address that a mail may link to, and nothing else.

Escaping keeps a value inside a quoted attribute, and says nothing about what the attribute does with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

from postroom.model.errors import InvalidRequest

_ADDRESSES = frozenset(
    {"href", "src", "srcset", "action", "formaction", "background", "poster", "cite", "data", "longdesc", "xlink:href"}
)
_SCHEMES = frozenset({"http", "https", "mailto", "tel", "sms", "cid"})
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_IGNORED = re.compile(r"[\x00-\x20\x7f-\xa0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")  # by what reads it
_CODE = ("script", "style")


def check_attributes(html: str, placed: re.Pattern[str], value_of: Callable[[str], str]) -> None:
    """`html` has a word matched by `placed` in place of each value. InvalidRequest names no value, only where it is."""
    reader = _Tags(placed, value_of)
    reader.feed(html)
    reader.close()


class _Tags(HTMLParser):
    def __init__(self, placed: re.Pattern[str], value_of: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=True)
        self._placed, self._value_of = placed, value_of

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        source = self.get_starttag_text() or ""
        if self._placed.search(_without_quoted(source)):
            raise _refused(f"a value stands in the tag <{_shown(tag)}> outside quotes; quote the attribute")
        for name, content in attrs:
            if content and self._placed.search(content):
                self._check(name, self._placed.sub(lambda word: self._value_of(word[0]), content))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in _CODE and self._placed.search(data):
            raise _refused(f"a value stands inside <{self.cdata_elem}>, where it would be read as code")

    def _check(self, name: str, content: str) -> None:
        if name.startswith("on") or name == "srcdoc":
            raise _refused(f"a value stands in the attribute {_shown(name)}, where it would be read as code")
        scheme = _SCHEME.match(_IGNORED.sub("", content)) if name in _ADDRESSES else None
        if scheme and scheme[1].lower() not in _SCHEMES:
            raise _refused(
                f"a value makes a link of the kind {_shown(scheme[1])}:; a link may begin with https:, http:, mailto: "
                "or tel:"
            )


def _without_quoted(tag: str) -> str:
    return re.sub(r"\"[^\"]*\"|'[^']*'", "", tag)


def _shown(name: str) -> str:
    return re.sub(r"[^\w:+.-]", "", name)[:20]


def _refused(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"The template cannot be filled in: {what}.", reason="template_variables", details={"field": "variables"}
    )
