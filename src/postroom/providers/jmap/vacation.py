"""The vacation reply (VacationResponse, RFC 8621, 8): one object, of which an update sets every field."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from postroom.model.errors import InvalidRequest, PostroomError, ProviderError
from postroom.model.vacation import Vacation
from postroom.providers.http.unclear import UnclearWrite
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import UNTOUCHED, set_error
from postroom.providers.vacations import is_as_ordered

_ONE = "singleton"
_GET = ("VacationResponse/get", {"ids": [_ONE]})


class VacationReply:
    def __init__(self, client: JmapClient) -> None:
        self._client = client

    async def read(self) -> Vacation:
        return _vacation((await self._client.read(_GET))[0])

    async def check(self, wanted: Vacation) -> None:
        """Also by reading: a server that offers the method and fails at it is found out before anybody is asked."""
        refuse_script(wanted)
        await self.read()

    async def start(self, wanted: Vacation) -> None:
        """UnclearWrite when the server agrees and then shows something else: its own fault, or somebody who changed it
        at the same moment."""
        refuse_script(wanted)
        found = await self._set(
            {
                "isEnabled": True,
                "fromDate": _written(wanted.start),
                "toDate": _written(wanted.end),
                "subject": wanted.subject or None,
                "textBody": wanted.text,
                "htmlBody": None,
            }
        )
        if not is_as_ordered(found, wanted):
            raise UnclearWrite("The mail server", "agreed, and yet shows another vacation reply")

    async def stop(self) -> None:
        if (await self._set({"isEnabled": False})).enabled:
            raise ProviderError("The mail server agreed, and yet says that the vacation reply is on. Check it there.")

    async def _set(self, change: dict[str, Any]) -> Vacation:
        """What the server shows after the change."""
        replies = await self._client.write(("VacationResponse/set", {"update": {_ONE: change}}), _GET)
        try:
            reply = replies[0]
        except PostroomError as error:
            if error.details.get("type", "forbidden") in UNTOUCHED:
                raise
            raise UnclearWrite("The mail server", "reports a failure that settles nothing") from error
        if _ONE not in (reply.get("updated") or {}):
            raise _refusal((reply.get("notUpdated") or {}).get(_ONE))
        try:
            return _vacation(replies[1])
        except PostroomError as error:
            raise UnclearWrite("The mail server", "agreed, and then failed") from error


def _refusal(error: Any) -> PostroomError:
    """Only what JMAP itself calls an error is certain to have changed nothing."""
    refused = set_error(error)
    if type(refused) is ProviderError:
        return UnclearWrite("The mail server", "reports a failure that settles nothing")
    return refused


def refuse_script(wanted: Vacation) -> None:
    """Cyrus up to 3.6 at least writes subject and text into a Sieve script as they are: what ends a string, a text or a
    comment there would go on as commands, which forward mail for instance. No server says which one it is."""
    if '"' in wanted.subject or "\\" in wanted.subject:
        raise _unsafe("subject", 'quotes (") and backslashes')
    if "*/" in wanted.text or any(line.strip() == "." for line in wanted.text.splitlines()):
        raise _unsafe("body", "lines of a single dot and the characters */")


def _unsafe(field: str, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"Some mail servers would take a part of this {field} for commands. Write it without {what}.",
        details={"field": field},
    )


def _vacation(reply: dict[str, Any]) -> Vacation:
    rows = reply.get("list")
    row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    subject, text, html = (
        value if isinstance(value := row.get(name), str) else "" for name in ("subject", "textBody", "htmlBody")
    )
    start, end = _moment(row.get("fromDate")), _moment(row.get("toDate"))
    return Vacation(row.get("isEnabled") is True, subject, text, "" if text else html, start, end)


def _written(moment: datetime | None) -> str | None:
    return f"{moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z" if moment else None


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) and value else None
    except (ValueError, OverflowError):
        return None
