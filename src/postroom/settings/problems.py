"""What is wrong with the settings, in one line per key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from postroom.model.errors import InvalidRequest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class SettingsError(InvalidRequest):
    """The file or the environment cannot be used as it is; the message names the key and the fix."""


def explain(error: ValidationError, root: type[BaseModel]) -> SettingsError:
    """Never repeats a value, except the wrong one of a fixed choice: any other might be a secret."""
    problems = [problem for problem in error.errors(include_url=False) if problem["type"] not in _CONSEQUENCES]
    return SettingsError("\n".join(_line(problem, root) for problem in problems))


def suggest(word: str, known: Iterable[str]) -> str:
    """``; did you mean host?`` or nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _line(problem: Any, root: type[BaseModel]) -> str:
    place: Sequence[str | int] = problem["loc"]
    kind: str = problem["type"]
    context: dict[str, Any] = problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{_shown(place)}: unknown key{suggest(str(place[-1]), _keys_beside(place, root))}"
    if kind == "missing":
        return f"{_shown(place)}: missing"
    if kind == "union_tag_not_found":
        return f"{_shown(place)}.provider: missing; use one of {', '.join(_providers())}"
    if kind == "union_tag_invalid":
        return f"{_shown(place)}.provider: {_unknown_word(str(context['tag']), _providers())}"
    if kind == "literal_error":
        return f"{_shown(place)}: {_unknown_word(str(problem['input']), _choices(context['expected']))}"
    if kind == "value_error":
        return f"{_shown(place)}: {context['error']}"
    if kind == "string_pattern_mismatch" and place[-1] == "name":
        return f"{_shown(place)}: use letters, digits and . _ @ + - only, at most 64"
    return f"{_shown(place)}: {_WRONG_TYPE.get(kind, problem['msg'])}"


_CONSEQUENCES = {"default_factory_not_called"}  # of another problem that is reported itself

_WRONG_TYPE = {
    "bool_type": "wrong type; write true or false, without quotes",
    "int_type": "wrong type; write a whole number, without quotes",
    "string_type": "wrong type; write text in quotes",
    "path_type": "wrong type; write a path in quotes",
    "tuple_type": "wrong type; write a list",
    "model_type": "wrong type; write a table",
    "model_attributes_type": "wrong type; write a table",
}


def _unknown_word(word: str, known: Sequence[str]) -> str:
    return f"unknown value {word[:40]!r}{suggest(word, known) or ';'} one of {', '.join(known)}"


def _choices(expected: str) -> list[str]:
    """Pydantic lists them as ``'a', 'b' or 'c'``."""
    return expected.replace(" or ", ", ").replace("'", "").split(", ")


def _providers() -> list[str]:
    from postroom.settings.accounts import BY_PROVIDER

    return list(BY_PROVIDER)


def _shown(place: Sequence[str | int]) -> str:
    """``accounts[0].host``, without the provider that pydantic inserts."""
    text = ""
    for step, key in enumerate(place):
        if isinstance(key, int):
            text += f"[{key}]"
        elif not (step == 2 and place[0] == "accounts"):
            text += f".{key}" if text else key
    return text


def _keys_beside(place: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    from postroom.settings.accounts import BY_PROVIDER, IdentitySettings
    from postroom.settings.oauth import OAuthSettings

    if len(place) == 1:
        return list(root.model_fields)
    if place[0] == "accounts" and len(place) == 4:
        return list(BY_PROVIDER[str(place[2])].model_fields)
    if place[0] == "accounts":
        return list((IdentitySettings if place[3] == "identities" else OAuthSettings).model_fields)
    if place[0] == "authorization" and len(place) == 4:
        from postroom.settings.authorization import Grant

        return list(Grant.model_fields)
    section: Any = root.model_fields[str(place[0])].annotation
    return list(section.model_fields)
