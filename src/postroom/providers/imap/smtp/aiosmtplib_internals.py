"""Everything that is used of aiosmtplib's internals: checking for unread input, and waiting for an upload.

A test compares these names with the installed version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from aiosmtplib import SMTP

METHODS = ("_drain_helper", "write")
ATTRIBUTES = ("_buffer", "transport")


def has_unread_input(client: SMTP) -> bool:
    protocol: Any = client.protocol
    return bool(protocol._buffer)


async def write_all(client: SMTP, content: bytes, patience: float) -> None:
    """Returns when every byte has been handed over; on any failure before that, nothing more is sent."""
    protocol: Any = client.protocol
    transport = protocol.transport
    try:
        transport.set_write_buffer_limits(high=0)
        protocol.write(content)
        with anyio.fail_after(patience):
            await protocol._drain_helper()
    except BaseException:
        transport.abort()  # closing would go on sending
        raise
    if not protocol.is_connected:
        raise ConnectionResetError
