"""Automatic replies (automaticRepliesSetting): HTML, without a subject of their own, for colleagues and for others."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import Any

from postroom.model.errors import InvalidRequest, Unsupported
from postroom.model.vacation import Vacation
from postroom.providers.graph.mail.reading import PROVIDER
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, text

_PATH, _KEY = "/mailboxSettings", "automaticRepliesSetting"
_SUBJECT = "Leave the subject out: Outlook writes it itself, from that of the mail it answers."


class AutomaticReplies:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self) -> Vacation:
        """The reply to others; that to colleagues where there is none for others."""
        found = (await self._client.get(_PATH, {"$select": _KEY})).get(_KEY)
        setting: JSON = found if isinstance(found, dict) else {}
        html = text(setting.get("externalReplyMessage")) or text(setting.get("internalReplyMessage"))
        status = setting.get("status")
        times = ("scheduledStartDateTime", "scheduledEndDateTime") if status == "scheduled" else ()
        start, end = [_moment(setting.get(name)) for name in times] or (None, None)
        return Vacation(status in ("alwaysEnabled", "scheduled"), html=html, start=start, end=end)

    def check(self, wanted: Vacation) -> None:
        if wanted.subject:
            raise Unsupported(PROVIDER, "a subject for vacation replies", _SUBJECT)
        if wanted.start and not wanted.end:
            raise InvalidRequest(
                "Microsoft schedules automatic replies only with an end. Give last_day too, or neither.",
                details={"field": "last_day"},
            )

    async def start(self, wanted: Vacation) -> None:
        self.check(wanted)
        html = escape(wanted.text, quote=False).replace("\n", "<br>\n")
        times: JSON = {}
        if wanted.start and wanted.end:
            times = {"scheduledStartDateTime": _given(wanted.start), "scheduledEndDateTime": _given(wanted.end)}
        await self._set(
            {
                "status": "scheduled" if times else "alwaysEnabled",
                "externalAudience": "all",
                "internalReplyMessage": html,
                "externalReplyMessage": html,
                **times,
            }
        )

    async def stop(self) -> None:
        if (await self.read()).enabled:
            await self._set({"status": "disabled"})

    async def _set(self, setting: JSON) -> None:
        await self._client.write("PATCH", _PATH, {_KEY: setting})


def _given(moment: datetime) -> JSON:
    return {"dateTime": moment.astimezone(UTC).replace(tzinfo=None).isoformat(), "timeZone": "UTC"}


def _moment(value: Any) -> datetime | None:
    """Without a header that asks for another zone, the service writes UTC; with seven digits of a second."""
    written = text(value.get("dateTime")) if isinstance(value, dict) else ""
    try:
        return datetime.fromisoformat(written.partition(".")[0]).replace(tzinfo=UTC)
    except ValueError:
        return None
