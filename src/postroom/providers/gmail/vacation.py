"""The vacation reply of the Gmail account. An update replaces all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from postroom.model.vacation import Vacation
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import JSON, UNITS, Get, text_of

_PATH = "settings/vacation"


class VacationReply:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self) -> Vacation:
        found = await self._found()
        text = text_of(found.get("responseBodyPlainText"))
        return Vacation(
            found.get("enableAutoReply") is True,
            text_of(found.get("responseSubject")),
            text,
            "" if text else text_of(found.get("responseBodyHtml")),
            _moment(found.get("startTime")),
            _moment(found.get("endTime")),
        )

    async def start(self, wanted: Vacation) -> None:
        """For everybody: what an earlier one restricted is no longer restricted."""
        times = {"startTime": _milliseconds(wanted.start), "endTime": _milliseconds(wanted.end)}
        await self._put(
            {
                "enableAutoReply": True,
                "responseSubject": wanted.subject,
                "responseBodyPlainText": wanted.text,
                "restrictToContacts": False,
                "restrictToDomain": False,
                **{name: value for name, value in times.items() if value},
            }
        )

    async def stop(self) -> None:
        found = await self._found()
        if found.get("enableAutoReply") is True:
            await self._put({**found, "enableAutoReply": False})

    async def _found(self) -> JSON:
        return await self._client.get(Get(_PATH, UNITS["settings"]))

    async def _put(self, settings: JSON) -> None:
        await self._client.put(_PATH, settings, units=UNITS["vacation.change"])


def _moment(milliseconds: Any) -> datetime | None:
    """Google writes 64-bit numbers as text. 0 is no moment."""
    text = str(milliseconds or "")
    if not text.isdecimal() or not int(text):
        return None
    try:
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _milliseconds(moment: datetime | None) -> str:
    return str(int(moment.timestamp() * 1000)) if moment else ""
