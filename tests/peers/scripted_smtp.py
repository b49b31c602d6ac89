"""An SMTP server that answers as told at each step (aiosmtpd), and remembers what it took."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope
from tests.peers.daemon import LOOPBACK, free_ports

HANG_UP = "hang up"
SILENCE = "silence"

_AUTH = re.compile(r" AUTH=\S+", re.IGNORECASE)


@dataclass(slots=True)
class Hold:
    """A step that is not answered until the test lets it go on."""

    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    times: int = 0


@dataclass(slots=True)
class Script:
    """`answers` by step: EHLO, AUTH, MAIL, RCPT, RCPT <address>, DATA, END (the final dot)."""

    answers: dict[str, str] = field(default_factory=dict)
    held: dict[str, Hold] = field(default_factory=dict)
    taken: list[Envelope] = field(default_factory=list)
    port: int = 0
    host: str = LOOPBACK


class _Handler:
    def __init__(self, script: Script) -> None:
        self._script = script

    async def handle_EHLO(self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]) -> Any:
        session.host_name = hostname
        refusal = await _played(self._script, "EHLO", server)
        return [refusal] if refusal else responses

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        refusal = await _played(self._script, "MAIL", server)
        if refusal:
            return refusal
        envelope.mail_from, envelope.mail_options = address, options
        return "250 OK"

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        refusal = await _played(self._script, f"RCPT {address}", server) or await _played(self._script, "RCPT", server)
        if refusal:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        refusal = await _played(self._script, "END", server)
        if refusal:
            return refusal
        self._script.taken.append(envelope)
        return "250 2.0.0 taken"


class _Server(SMTP):
    """Also refuses DATA before the mail, and takes what aiosmtpd does not know: long bearer tokens, and the AUTH
    parameter by which a server names the user it submits for (RFC 4954, 5)."""

    script: Script

    async def smtp_MAIL(self, arg: str) -> None:
        await super().smtp_MAIL(_AUTH.sub("", arg))

    async def smtp_DATA(self, arg: str) -> None:
        refusal = await _played(self.script, "DATA", self)
        if refusal:
            await self.push(refusal)
        else:
            await super().smtp_DATA(arg)


async def _played(script: Script, step: str, server: Any) -> str:
    answer = script.answers.get(step, "")
    if hold := script.held.get(step):
        hold.times += 1
        hold.reached.set()
        await asyncio.to_thread(hold.released.wait)
    if answer == HANG_UP:
        server.transport.abort()
    if answer == SILENCE:
        await asyncio.sleep(3600)
    return answer


@contextmanager
def scripted_smtp(*, size: int = 2**20, utf8: bool = True) -> Iterator[Script]:
    script = Script()

    def authenticate(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        accepted = script.answers.get("AUTH", "") == ""
        return AuthResult(success=accepted, handled=False, message=script.answers.get("AUTH") or None)

    class ScriptedController(Controller):
        def factory(self) -> SMTP:
            server = _Server(
                self.handler,
                hostname="localhost",
                data_size_limit=size,
                enable_SMTPUTF8=utf8,
                auth_require_tls=False,
                authenticator=authenticate,
                timeout=60,
            )
            server.script = script
            server.command_size_limits["AUTH"] = 16384
            return server

    (script.port,) = free_ports(1)
    controller = ScriptedController(_Handler(script), hostname=LOOPBACK, port=script.port)
    controller.start()
    try:
        yield script
    finally:
        controller.stop()
