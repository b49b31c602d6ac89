"""The message that a send answers or forwards: marked as such once the provider has accepted the send."""

from __future__ import annotations

from postroom.model.errors import NotFound, PermissionDenied, PostroomError, Unsupported
from postroom.model.ids import Kind
from postroom.model.query.tree import Flag, MessageId, Query
from postroom.service.gateway import Account, Gateway
from postroom.store import Send

# Deleted since; a server that has no such mark; a login of no more than sending needs, which nobody has to mend.
_EXPECTED = (NotFound, Unsupported, PermissionDenied)
_COPIES = 20  # of one message: a mailbox may hold it in several folders


async def mark_original(gateway: Gateway, send: Send) -> str:
    """What kept it from being marked, as a warning; empty when all is well or there is nothing to mark."""
    if not send.answers_ref or send.native:  # a provider marks what its own action answered
        return ""
    flag: Flag = "forwarded" if send.kind == "email_forward" else "answered"
    try:
        account = await gateway.accounts.open(send.account)
        refs = await _refs(gateway, account, send.answers_ref)
        if not refs:
            return ""  # it was deleted since, or never was here
        results = await account.mailbox.set_flags(refs, add=[flag])
        trouble = next((result.error for result in results if result.error is not None), None)
    except PostroomError as error:
        trouble = error
    if trouble is None or isinstance(trouble, _EXPECTED):
        return ""
    return f"The message was sent, but the original could not be marked as {flag}. {trouble.message}"


async def _refs(gateway: Gateway, account: Account, answers: str) -> list[str]:
    if not answers.startswith("<"):
        return [(await gateway.in_thread(gateway.store.handles.resolve, answers, Kind.EMAIL)).ref]
    page = await account.mailbox.search(Query(MessageId(answers), anywhere=True), limit=_COPIES, offset=0)
    return [mail.ref for mail in page.items if mail.message_id == answers and not mail.draft]
