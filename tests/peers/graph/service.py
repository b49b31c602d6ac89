"""The service itself: users, tokens, delivery, and the way of a request from the socket to its handler."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from typing import Any

from tests.peers.gmail.raw_headers import with_first, without
from tests.peers.graph import batch, rules, spec
from tests.peers.graph.content import Content
from tests.peers.graph.delta import Tokens
from tests.peers.graph.door import Door, operation_in
from tests.peers.graph.errors import Refused, bad
from tests.peers.graph.mailbox import Clock, Mailbox
from tests.peers.graph.operations import ALL
from tests.peers.graph.stored import StoredMessage
from tests.peers.graph.uploads import Uploads
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


class FakeGraph(WebPeer):
    def __init__(self, *, clock: Clock = time.time, tokens: AccessTokens | None = None) -> None:
        """`tokens` are those of an authorisation server, where there is one."""
        super().__init__()
        self.clock = clock
        self.tokens = tokens or AccessTokens(clock)
        self.spec = spec.load()
        self.users: dict[str, Mailbox] = {}
        self.sent: list[SentMail] = []
        self.unresolvable: set[str] = set()  # addresses that are refused when a message is sent
        self.at_once: int | None = 4  # requests for one mailbox under way
        self.largest = 4 * 1024 * 1024  # bytes of a request that is no upload
        self.rewrites_mime = False
        self.replaces_message_ids = False
        self.delta_tokens, self.uploads = Tokens(), Uploads()
        self._door = Door(self)

    @classmethod
    @contextmanager
    def started(cls, **how: Any) -> Iterator[FakeGraph]:
        with cls(**how).run() as graph:
            yield graph

    # What a test author uses

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1.0"

    def user(self, address: str, name: str = "") -> Mailbox:
        """That user's mailbox, made if there is none yet."""
        with self.lock:
            known = self.users.get(address.lower())
            return known or self.users.setdefault(address.lower(), Mailbox(address, name, self.clock))

    def token(self, user: Mailbox, scopes: Iterable[str] = ALL, *, lifetime: float = 3600) -> str:
        return self.tokens.issue(user.address, scopes, lifetime=lifetime).text

    def deliver(
        self, user: Mailbox, raw: bytes, folder: str = "inbox", *, when: float | None = None, **more: Any
    ) -> StoredMessage:
        """Mail from outside, at a moment in seconds: that of its Date, or now. Rules run in the inbox."""
        with self.lock:
            content = Content(raw)
            moment = when if when is not None else _date_of(content, self.clock())
            stored = user.add(content, folder, received=moment, **more)
            if stored.folder == user.well_known["inbox"]:
                rules.run(user, stored)
            return stored

    def forget_delta(self) -> None:
        """From now on every delta token given out so far is unknown."""
        with self.lock:
            self.delta_tokens.forget()

    # What the operations use

    def find_user(self, given: str) -> Mailbox | None:
        """By address, by alias or by id."""
        for user in self.users.values():
            if _in_letters(given.lower()) in (user.address.lower(), user.id, *user.aliases):
                return user
        return None

    def submit(self, sender: Mailbox, stored: StoredMessage, *, keeps: bool = True) -> None:
        """The draft becomes the sent message, under the same immutable id."""
        content = stored.content
        self._refuse_recipients(content)
        own = {sender.address.lower(), *sender.aliases}
        if any(address.lower() not in own for _, address in content.people("From")):
            raise Refused(
                403,
                "The user account which was used to submit this request may not send as this sender.",
                "ErrorSendAsDenied",
            )
        stored.is_draft, stored.is_read, stored.received = False, True, self.clock()
        sender.move(stored, "sentitems")
        owners = {address: self.find_user(address) for address in content.recipients}
        for owner in dict.fromkeys(owner for owner in owners.values() if owner):
            self.deliver(
                owner, with_first(without(stored.raw, "bcc"), "Delivered-To", owner.address), when=self.clock()
            )
        external = tuple(address for address, owner in owners.items() if owner is None)
        self.sent.append(SentMail(sender.address, tuple(content.recipients), external, stored.raw))
        for address in external:
            if any(address.partition("@")[2] == user.partition("@")[2] for user in self.users):
                self.deliver(sender, _bounce(sender.address, address), when=self.clock())
        if not keeps:
            sender.remove(stored)

    def _refuse_recipients(self, content: Content) -> None:
        if not content.recipients:
            raise bad("At least one recipient is not valid., No recipients were given.", "ErrorInvalidRecipients")
        for address in content.recipients:
            if address.lower() in self.unresolvable:
                said = f"At least one recipient is not valid., Recipient '{address}' is not resolved."
                raise bad(
                    f"{said} All recipients must be resolved before a message can be submitted.",
                    "ErrorInvalidRecipients",
                )

    # How a request is answered

    def operation_of(self, request: Request) -> str:
        return operation_in(request)

    def respond(self, request: Request, recorded: Recorded) -> Answer:
        under_way = self.in_flight[request.header("authorization")]
        if recorded.operation == "batch":
            try:
                recorded.user = self._door.owner_of(request)[1].address
            except Refused as refused:
                return refused.answer()
            return batch.answer(request, lambda inner: self.answer_in_batch(inner, self._inner))
        return self._door.answer(request, recorded, under_way)

    def _inner(self, request: Request, recorded: Recorded) -> Answer:
        return self._door.answer(request, recorded, 1)

    def error(self, fault: Fault) -> Answer:
        return Refused(fault.status, fault.message or "The request failed, as a test asked for.", fault.reason).answer()


def _date_of(content: Content, otherwise: float) -> float:
    try:
        return parsedate_to_datetime(content.header("Date")).timestamp()
    except (TypeError, ValueError):
        return otherwise


def _in_letters(address: str) -> str:
    """A domain as people write it, not as xn--..."""
    local, at, domain = address.rpartition("@")
    return f"{local}{at}{domain.encode().decode('idna')}" if domain.isascii() and "xn--" in domain else address


def _bounce(to: str, failed: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = f"postmaster@{to.partition('@')[2]}", to
    message["Subject"] = "Undeliverable"
    message.set_content(f"Your message to {failed} couldn't be delivered.")
    return message.as_bytes()
