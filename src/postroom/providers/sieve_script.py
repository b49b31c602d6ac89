"""Postroom's own script at a mail server: the rules, and below them the vacation reply (RFC 5230).

A server runs one script, so both are in the same. Either can be switched on without the other: rules that are off while
the reply is on stand in a block that never runs. What the reply says is noted as JSON in a comment, and what is found
below that comment must be exactly what Postroom writes for it: anything else was changed by somebody else.
"""

from __future__ import annotations

import json
import quopri
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from postroom.model.errors import Conflict, InvalidRequest
from postroom.model.vacation import Vacation

NAME = "postroom"  # of the script: others are left alone
DAYS = 7  # before the same sender gets the reply again

OFF = Vacation(False)
_MARK = "# vacation: "
_REQUIRE = "require "
_OFF, _END = "if false { # the rules are switched off", "} # here they end"


@dataclass(frozen=True, slots=True)
class Script:
    """`rules` as `sieve.compiled` wrote them. `addresses`: a mail that names none of them gets no reply."""

    rules: str = ""
    rules_on: bool = False
    vacation: Vacation = OFF
    addresses: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        return self.rules_on or self.vacation.enabled

    @property
    def text(self) -> str:
        lines = self.rules.removesuffix("\n").split("\n") if self.rules else []
        if lines and self.vacation.enabled and not self.rules_on:
            head = next((at for at, line in enumerate(lines) if not line.startswith(_REQUIRE)), len(lines))
            lines = [*lines[:head], _OFF, *lines[head:], _END]
        written = [*_extensions(self.vacation), *lines, *_reply(self.vacation, self.addresses)]
        return "\n".join([*written, ""]) if written else ""


def read(text: str, *, is_active: bool) -> Script:
    """Of a script that does not run, nothing is on. Conflict when the reply in it is not as Postroom writes it."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    cut = next((at for at, line in enumerate(lines) if line.startswith(_MARK)), len(lines))
    vacation, addresses = _noted("\n".join(lines[cut:])) if lines[cut:] else (OFF, ())
    first = _extensions(vacation)
    if lines[: len(first)] != first:
        raise _changed()
    above = lines[len(first) : cut]
    rules = [one for one in above if one not in (_OFF, _END)]
    return Script(
        "\n".join([*rules, ""]) if any(rules) else "",
        is_active and any(rules) and _OFF not in above,
        replace(vacation, enabled=vacation.enabled and is_active),
        addresses,
    )


def _noted(part: str) -> tuple[Vacation, tuple[str, ...]]:
    try:
        note: dict[str, Any] = json.loads(part.partition("\n")[0].removeprefix(_MARK))
        start, end = (datetime.fromisoformat(note[key]) if note[key] else None for key in ("start", "end"))
        vacation = Vacation(note["enabled"], note["subject"], note["text"], start=start, end=end)
        addresses = tuple(note["addresses"])
        if "\n".join(_reply(vacation, addresses)) == part:
            return vacation, addresses
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError, InvalidRequest):
        pass
    raise _changed()


def _changed() -> Conflict:
    return Conflict(
        f"The script {NAME!r} on the mail server was changed by somebody else, and Postroom does not replace what it "
        "did not write. Ask the user to look at it and to delete it."
    )


def _extensions(vacation: Vacation) -> list[str]:
    if not vacation.enabled:
        return []
    more = ', "date", "relational"' if vacation.start or vacation.end else ""
    return [f'{_REQUIRE}["vacation"{more}];']


def _reply(vacation: Vacation, addresses: tuple[str, ...]) -> list[str]:
    """The note, and the command where it is on."""
    if vacation == OFF:
        return []
    start, end = (one.astimezone(UTC).isoformat() if one else "" for one in (vacation.start, vacation.end))
    note = {"subject": vacation.subject, "text": vacation.text, "start": start, "end": end, "addresses": addresses}
    marked = _MARK + json.dumps({"enabled": vacation.enabled, **note})
    return [marked, *(_command(vacation, addresses) if vacation.enabled else ())]


def _command(vacation: Vacation, addresses: tuple[str, ...]) -> list[str]:
    subject = f" :subject {quoted(vacation.subject)}" if vacation.subject else ""
    known = f" :addresses [{', '.join(map(quoted, addresses))}]" if addresses else ""
    lines = f"vacation :days {DAYS}{subject}{known} :mime {quoted(_mime(vacation.text))};".split("\n")
    tests = [*_since("ge", vacation.start), *_since("lt", vacation.end)]
    return [f"if allof({', '.join(tests)}) {{", *lines, "}"] if tests else lines


def _mime(text: str) -> str:
    """Servers send the text as it is, and mail exchanges refuse lines of more than 998 bytes: so it is encoded here."""
    _refuse_control_characters(text)
    encoded = quopri.encodestring(text.encode()).decode("ascii")
    return f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n{encoded}"


def _since(relation: str, moment: datetime | None) -> list[str]:
    """Compared as text: an offset that the server writes behind its own time, in whichever form, changes no order."""
    if moment is None:
        return []
    written = moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    return [f'currentdate :zone "+0000" :value "{relation}" "iso8601" "{written}"']


def quoted(text: str) -> str:
    """One string over any number of lines: nothing in it can be the end of it."""
    _refuse_control_characters(text)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _refuse_control_characters(text: str) -> None:
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        raise InvalidRequest("Text for the mail server's script must have no control characters.")
