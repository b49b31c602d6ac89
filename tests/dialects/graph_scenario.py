"""The end-to-end scenario of the dialect graph's contract: the same on the fake service and on a real mailbox."""

from __future__ import annotations

from typing import Any

import anyio
from tests.flows.caller import Caller

from postroom.model.folder import Role
from postroom.service.gateway import Gateway

DELIVERY = 120  # seconds a real service may take at most
PREFIX = "MS-MCP-E2E-Send-"  # so that what an interrupted run left behind can be found and removed


async def sent_answered_and_forwarded(gateway: Gateway, call: Caller, own: str, second: str, stamp: str) -> None:
    """A message to oneself and to the second mailbox is found in Sent Items, answered in its thread, and forwarded."""
    subject = f"{PREFIX}{stamp}"
    mail = {"to": [own, second], "subject": subject, "body": "Testnachricht."}
    assert (await call.ok("send_email", **mail))["status"] == "preview"
    assert (await call.ok("send_email", **mail, confirm=True, idempotency_key=stamp))["recipientCount"] == 2
    await _arrived(call, "sentitems", subject)
    original = await _arrived(call, "inbox", subject)
    answer = {"message_id": original["message_id"], "comment": f"Antwort {stamp}"}
    assert (await call.ok("reply_email", **answer, confirm=True))["status"] == "sent"
    reply = await _arrived(call, "sentitems", f"RE: {subject}")
    assert f"Antwort {stamp}" in (await call.ok("read_email", message_id=reply["message_id"]))["body"]
    mailbox = (await gateway.accounts.open()).mailbox
    both = await mailbox.envelopes([original["message_id"], reply["message_id"]])
    assert len({one.thread_ref for one in both if one is not None}) == 1
    forward = {"message_id": original["message_id"], "to": [second]}
    assert (await call.ok("forward_email", **forward, confirm=True))["status"] == "sent"
    await _arrived(call, "sentitems", f"FW: {subject}")


async def clean_up(gateway: Gateway, call: Caller) -> int:
    """Whatever a run has left, this one or an earlier one, goes to the trash; how many messages that were."""
    mailbox = (await gateway.accounts.open()).mailbox
    trash = next(folder.ref for folder in await mailbox.folders() if folder.role is Role.TRASH)
    refs = []
    for folder in ("sentitems", "inbox"):
        rows = (await call.ok("list_emails", folder=folder, top=100))["emails"]
        refs += [row["message_id"] for row in rows if PREFIX in row["subject"]]
    assert all(result.ok for result in await mailbox.move(refs, trash))
    return len(refs)


async def _arrived(call: Caller, folder: str, subject: str) -> dict[str, Any]:
    """Delivery is somebody else's work: look until it is done, within bounds."""
    with anyio.fail_after(DELIVERY):
        while True:
            rows: list[dict[str, Any]] = (await call.ok("list_emails", folder=folder))["emails"]
            for row in rows:
                if row["subject"].casefold() == subject.casefold():
                    return row
            await anyio.sleep(0.2)  # a service that throttles must not be asked without a pause
