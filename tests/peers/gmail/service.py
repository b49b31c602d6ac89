"""The service itself: users, tokens, delivery, and the way of a request from the socket to its handler."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.peers.gmail import batch, discovery, filters
from tests.peers.gmail.door import Door, inner_of, operation_in, overridden
from tests.peers.gmail.errors import Refused
from tests.peers.gmail.mailbox import Clock, Mailbox
from tests.peers.gmail.methods import FULL, METHODS, SETTINGS, Method
from tests.peers.gmail.outgoing import prepared, received_copy, recipients_of
from tests.peers.gmail.paging import Pages
from tests.peers.gmail.quota import Quota
from tests.peers.gmail.raw_headers import with_network_newlines
from tests.peers.gmail.stored import StoredMessage
from tests.peers.gmail.uploads import Uploads
from tests.peers.oauth.tokens import AccessTokens
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.peer import WebPeer


@dataclass(frozen=True, slots=True)
class SentMail:
    """A mail that was accepted: the bytes as the sender keeps them."""

    sender: str
    recipients: tuple[str, ...]
    external: tuple[str, ...]
    raw: bytes


class FakeGmail(WebPeer):
    def __init__(self, *, clock: Clock = time.time, tokens: AccessTokens | None = None) -> None:
        """`tokens` are those of an authorisation server, where there is one."""
        super().__init__()
        document = discovery.load()
        self.clock = clock
        self.tokens = tokens or AccessTokens(clock)
        self.quota = Quota(clock)
        self.discovery = discovery.Discovery(document) if document else None
        self.palette = _palette(document) if document else frozenset()
        self.users: dict[str, Mailbox] = {}
        self.sent: list[SentMail] = []
        self.replaces_message_ids = False
        self.upload_limit: int | None = None  # instead of Google's, for tests that would not move 35 MB
        self.json_limit = 10 * 2**20  # of a request that is no upload
        self.pages, self.uploads = Pages(), Uploads()
        self._door = Door(self)

    @classmethod
    @contextmanager
    def started(cls, **how: Any) -> Iterator[FakeGmail]:
        with cls(**how).run() as gmail:
            yield gmail

    # What a test author uses

    def user(self, address: str, name: str = "") -> Mailbox:
        """That user's mailbox, made if there is none yet."""
        with self.lock:
            known = self.users.get(address.lower())
            return known or self.users.setdefault(address.lower(), Mailbox(address, name, self.clock))

    def token(
        self,
        user: Mailbox,
        scopes: Iterable[str] = (FULL, SETTINGS),
        *,
        lifetime: float = 3600,
        delegated: bool = False,
    ) -> str:
        return self.tokens.issue(user.address, scopes, lifetime=lifetime, delegated=delegated).text

    def deliver(
        self,
        user: Mailbox,
        raw: bytes,
        labels: Iterable[str] = ("INBOX", "UNREAD"),
        *,
        when: float | None = None,
        filtered: bool = True,
    ) -> StoredMessage:
        """Mail from outside, at a moment in seconds (now without `when`)."""
        with self.lock:
            moment = int((self.clock() if when is None else when) * 1000)
            arriving = StoredMessage("", "", with_network_newlines(raw), set(labels), moment, 0)
            if filtered:
                self._filter(user, arriving)
            return user.add(raw, arriving.labels, internal_date=moment, thread_id=user.thread_found(raw))

    def add_send_as(self, user: Mailbox, address: str, name: str = "", *, verified: bool = True) -> None:
        with self.lock:
            user.send_as[address.lower()] = {
                "sendAsEmail": address,
                "displayName": name,
                "replyToAddress": "",
                "signature": "",
                "treatAsAlias": True,
                "verificationStatus": "accepted" if verified else "pending",
            }

    def forget_history(self, user: Mailbox) -> None:
        with self.lock:
            user.history.forget()

    def forget_attachment_ids(self, user: Mailbox) -> None:
        with self.lock:
            user.attachment_ids.clear()

    def units(self, user: Mailbox) -> int:
        """What this user's requests cost, since `forget`."""
        return sum(recorded.units for recorded in self.requests if recorded.user == user.address)

    # What the methods use

    def owner_of(self, address: str) -> Mailbox | None:
        plain = re.sub(r"\+[^@]*@", "@", address.lower())
        for user in self.users.values():
            entry = user.send_as.get(plain)
            if entry and (entry.get("isPrimary") or entry.get("verificationStatus") == "accepted"):
                return user
        return None

    def is_local(self, address: str) -> bool:
        return any(user.address.partition("@")[2] == address.partition("@")[2] for user in self.users.values())

    def limit_of(self, method: Method) -> int:
        own = METHODS[method.name].upload_limit
        assert own is not None
        return own if self.upload_limit is None else self.upload_limit

    def send(self, sender: Mailbox, raw: bytes, thread_id: str = "", *, joined: bool = False) -> StoredMessage:
        """`joined`: that thread it is, without a look at the headers (a draft is in it already)."""
        recipients = recipients_of(raw)
        thread = thread_id if joined else sender.thread_asked_for(raw, thread_id)
        raw = prepared(sender, raw, replaces_message_id=self.replaces_message_ids)
        owners = {address: self.owner_of(address) for address in recipients}
        own_labels = {"SENT", "INBOX", "UNREAD"} if sender in owners.values() else {"SENT"}
        kept = sender.add(raw, own_labels, thread_id=thread)
        for owner in dict.fromkeys(owner for owner in owners.values() if owner and owner is not sender):
            self.deliver(owner, received_copy(raw, owner.address))
        external = tuple(address for address, owner in owners.items() if owner is None)
        self.sent.append(SentMail(sender.address, tuple(recipients), external, kept.raw))
        return kept

    def _filter(self, user: Mailbox, message: StoredMessage) -> None:
        for entry in user.filters.values():
            if filters.matches(user, entry["criteria"], message):
                action = entry["action"]
                message.labels |= set(action.get("addLabelIds", []))
                message.labels -= set(action.get("removeLabelIds", []))
                if target := action.get("forward"):
                    self._forward(user, message, target)

    def _forward(self, user: Mailbox, message: StoredMessage, target: str) -> None:
        owner = self.owner_of(target)
        self.sent.append(SentMail(user.address, (target,), () if owner else (target,), message.raw))
        if owner and owner is not user:
            self.deliver(owner, received_copy(message.raw, owner.address))

    # How a request is answered

    def operation_of(self, request: Request) -> str:
        return operation_in(overridden(request))

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        request = overridden(request)
        if recorded.operation == "batch":
            return batch.answer(request, self._inner)
        return self._door.answer(request, recorded, self.in_flight[request.header("authorization")])

    def _inner(self, request: Request, under_way: int) -> Answer:
        return self.answer_in_batch(
            request, lambda inner, recorded: self._door.answer(inner_of(inner), recorded, under_way)
        )

    def error(self, fault: Fault) -> Answer:
        message = fault.message or _MESSAGES.get(fault.status, "Backend Error")
        return Refused(fault.status, message, fault.reason).answer()


_MESSAGES = {
    401: "Invalid Credentials",
    403: "Forbidden",
    404: "Requested entity was not found.",
    413: "Request Entity Too Large",
    429: "Resource has been exhausted (e.g. check quota).",
    500: "Internal error encountered.",
    503: "The service is currently unavailable.",
}


def _palette(document: dict[str, Any]) -> frozenset[str]:
    """The colours a label may have stand only in a sentence of the document."""
    described = document["schemas"]["LabelColor"]["properties"]["textColor"]["description"]
    return frozenset(re.findall(r"#[0-9a-f]{6}", described))
