"""The vacation reply (VacationResponse, RFC 8621, 8): one object, of which an update sets every field."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from postroom.model.errors import Conflict, InvalidRequest, PostroomError, ProviderError
from postroom.model.vacation import Vacation
from postroom.providers.http.unclear import UnclearWrite
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import SIEVE, SIEVE_OF_CYRUS, UNTOUCHED, set_error
from postroom.providers.vacations import is_as_ordered

_ONE = "singleton"
_MAY_STOP = (
    "If the user has an active Sieve script at this mail server, switching the reply on may stop it; Postroom cannot "
    "see whether there is one."
)
_GET = ("VacationResponse/get", {"ids": [_ONE]})


class VacationReply:
    def __init__(self, client: JmapClient) -> None:
        self._client = client

    async def read(self) -> Vacation:
        return _vacation((await self._client.read(_GET))[0])

    async def check(self, wanted: Vacation) -> str:
        """Also by reading: a server that offers the method and fails at it is found out before anybody is asked."""
        refuse_script(wanted)
        await self.read()
        await self._refuse_to_stop_a_script()
        offers = (await self._client.session()).offers
        return _MAY_STOP if SIEVE_OF_CYRUS in offers and SIEVE not in offers else ""

    async def start(self, wanted: Vacation) -> None:
        """With CRLF, since Cyrus sends the text as it is. UnclearWrite when the server agrees and then shows something
        else: by its own fault, or because somebody changed it at the same moment."""
        refuse_script(wanted)
        await self._refuse_to_stop_a_script()
        found = await self._set(
            {
                "isEnabled": True,
                "fromDate": _written(wanted.start),
                "toDate": _written(wanted.end),
                "subject": wanted.subject or None,
                "textBody": wanted.text.replace("\n", "\r\n"),
                "htmlBody": None,
            }
        )
        if not is_as_ordered(found, wanted):
            raise UnclearWrite("The mail server", "agreed, and yet shows another vacation reply")

    async def _refuse_to_stop_a_script(self) -> None:
        """A server that keeps the reply as a script may run that one instead of the user's, without a word."""
        if SIEVE not in (await self._client.session()).offers:
            return
        replies = await self._client.read(("SieveScript/get", {"ids": None}), _GET)
        rows = replies[0].get("list")
        scripts = [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []
        running = next((str(one.get("name") or "") for one in scripts if one.get("isActive") is True), None)
        if running is not None and not _vacation(replies[1]).enabled:
            raise Conflict(
                f"The mail server runs the script {running[:80]!r}, and may stop it when the vacation reply is "
                "switched on. Ask the user to deactivate it first, or to switch the reply on at the mail service."
            )

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
    """Cyrus (3.6, 3.10) writes subject and text into a Sieve script as they are: what ends a string, a text or a
    comment there would go on as commands, which forward mail for instance. No server says which one it is."""
    if '"' in wanted.subject or "\\" in wanted.subject:
        raise _unsafe("subject", 'quotes (") and backslashes')
    if "*/" in wanted.text or any(_is_dotted(line) for line in wanted.text.splitlines()):
        raise _unsafe("body", "the characters */, lines of a single dot, and lines that begin with two")


def _is_dotted(line: str) -> bool:
    """The end of a text in a script, or a line that loses a dot there."""
    return line.strip() == "." or line.startswith("..")


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
    text = text.replace("\r\n", "\n")
    start, end = _moment(row.get("fromDate")), _moment(row.get("toDate"))
    return Vacation(row.get("isEnabled") is True, subject, text, "" if text else html, start, end)


def _written(moment: datetime | None) -> str | None:
    return f"{moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z" if moment else None


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) and value else None
    except (ValueError, OverflowError):
        return None
