"""A token that a program prints: a password manager, a company's own login tool."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import anyio

from postroom.model.errors import AuthRequired

PATIENCE = 60.0  # seconds; it may ask a server, but must not prompt
LONGEST = 16_384  # characters


class TokenFromCommand:
    """Run for the first token and after a refusal. Its output goes only to the service, its errors
    nowhere: both may contain a secret."""

    def __init__(self, account: str, command: Sequence[str], *, patience: float = PATIENCE) -> None:
        self._account = account
        self._command = list(command)
        self._patience = patience
        self._token = ""
        self._one_at_a_time: anyio.Lock | None = None

    async def token(self) -> str:
        return self._token or await self.refreshed("")

    async def refreshed(self, old: str) -> str:
        async with self._lock():
            if self._token == old:
                self._token = await self._printed()
            return self._token

    def _lock(self) -> anyio.Lock:
        self._one_at_a_time = self._one_at_a_time or anyio.Lock()
        return self._one_at_a_time

    async def _printed(self) -> str:
        """The first line of its output."""
        try:
            with anyio.fail_after(self._patience):
                return self._checked(await self._output())
        except TimeoutError:
            raise self._failed(f"did not finish within {self._patience:.0f} seconds") from None
        except OSError as error:
            raise self._failed(f"cannot be started ({error.strerror})") from None

    async def _output(self) -> bytes:
        """A command that prints without end is killed."""
        started = anyio.open_process(self._command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        async with await started as process:
            output = bytearray()
            assert process.stdout is not None
            async for piece in process.stdout:
                output += piece
                if len(output) > LONGEST:
                    process.kill()
                    raise self._failed("printed no token")
            if (code := await process.wait()) != 0:
                raise self._failed(f"exited with code {code}")
            return bytes(output)

    def _checked(self, output: bytes) -> str:
        token = output.decode("utf-8", "replace").strip().partition("\n")[0].strip()
        if not token or len(token) > LONGEST or not (token.isascii() and token.isprintable()) or " " in token:
            raise self._failed("printed no token")
        return token

    def _failed(self, what: str) -> AuthRequired:
        return AuthRequired(
            f"The token_command of account {self._account} {what}. Run it by hand to see what is wrong."
        )
