"""Whether a browser supports what a style sheet asks for."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from postroom.mime.css.conditions import holds
from postroom.mime.css.longhands import is_checked, longhands
from postroom.mime.css.selectors import weight_of
from postroom.mime.css.syntax import unescaped

_MAX_CONDITION: Final = 1_000  # characters
_FOREIGN: Final = ("-ms-", "-moz-", "-o-", "-apple-", "-khtml-", "mso-")  # of other engines
_OF_PHONES: Final = frozenset({"-webkit-touch-callout", "-webkit-overflow-scrolling"})


@lru_cache(maxsize=256)
def supports_holds(condition: str) -> bool | None:
    """None where only a browser knows."""
    return holds(unescaped(condition[:_MAX_CONDITION]).lower(), _is_supported)


def _is_supported(feature: str) -> bool | None:
    if feature.startswith("selector("):
        return True if weight_of(feature[9:-1]) is not None else None
    name, colon, value = (part.strip() for part in feature.partition(":"))
    if name.startswith(_FOREIGN) or value.startswith(_FOREIGN) or name in _OF_PHONES:
        return False
    if not colon or not is_checked(name):
        return True if name.startswith("--") else None
    return bool(longhands(name, value, False))
