"""Upload sessions: pieces in order, to an address that needs no token and takes none."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tests.peers.graph.content import File
from tests.peers.graph.errors import Refused, bad
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.stored import StoredMessage, moment
from tests.peers.web.messages import Answer, Request

LARGEST_PIECE = 4 * 1024 * 1024
PATH = re.compile(r"/api/AttachmentSessions\((?:'|%27)(?P<key>[\w-]+)(?:'|%27)\)\Z")
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)\Z")
_LIFETIME = 3 * 86_400


@dataclass
class Session:
    mailbox: Mailbox
    message: StoredMessage
    item: dict[str, Any]
    end: float
    received: bytearray = field(default_factory=bytearray)

    def shown(self) -> dict[str, Any]:
        return {"expirationDateTime": moment(self.end), "nextExpectedRanges": [f"{len(self.received)}-"]}


class Uploads:
    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}

    def begin(self, key: str, mailbox: Mailbox, message: StoredMessage, item: dict[str, Any], now: float) -> Session:
        self.sessions[key] = Session(mailbox, message, item, now + _LIFETIME)
        return self.sessions[key]

    def answer(self, request: Request, put: Any) -> Answer:
        found = PATH.match(request.path)
        session = self.sessions.get(found["key"]) if found else None
        if request.header("authorization"):
            raise Refused(401, "An upload session takes no Authorization header.", "InvalidAuthenticationToken")
        if session is None or found is None:
            raise Refused(404, "The upload session was not found.", "ErrorItemNotFound")
        if request.method == "GET":
            return Answer.of_json(session.shown())
        if request.method == "DELETE":
            del self.sessions[found["key"]]
            return Answer(204)
        self._take(session, request)
        if len(session.received) < session.item["size"]:
            return Answer.of_json(session.shown())
        del self.sessions[found["key"]]
        item = session.item
        kind, cid = item.get("contentType") or "application/octet-stream", item.get("contentId") or ""
        file = File(item["name"], kind, bytes(session.received), bool(item.get("isInline")) and bool(cid), cid)
        put(session.mailbox, session.message, file)
        place = session.message.file_ids()[len(session.message.content.files) - 1]
        return Answer(201, b"", {"location": f"https://outlook.example/api/Attachments('{place}')"})

    def _take(self, session: Session, request: Request) -> None:
        given = _RANGE.match(request.header("content-range"))
        if given is None or len(request.body) > LARGEST_PIECE:
            raise bad("The Content-Range header is missing or wrong, or the range too large.", "ErrorInvalidRequest")
        first, last, total = (int(part) for part in given.groups())
        if total != session.item["size"] or last - first + 1 != len(request.body):
            raise bad("The Content-Range header does not fit the content.", "ErrorInvalidRequest")
        if first != len(session.received):
            raise Refused(416, "The range is not the one that is expected next.", "InvalidRange")
        session.received += request.body
