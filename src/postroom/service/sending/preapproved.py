"""Sends that an approval file releases, where a contract wants them checked in this order: input, dev mode, approval,
rate limit. Only then is the provider asked anything. Whatever passes goes to the gate, which checks it all again."""

from __future__ import annotations

from postroom.model.address import masked_few
from postroom.model.errors import NotFound, PostroomError
from postroom.model.ids import Kind as HandleKind
from postroom.safety import limits
from postroom.service.gateway import Gateway
from postroom.service.reading.read import thread_gone
from postroom.service.sending import send
from postroom.service.sending.approval import handwritten
from postroom.service.sending.approval.handwritten import Wanted
from postroom.service.sending.auditing import Record, audited, failure_audited
from postroom.service.sending.order import Wishes
from postroom.service.views import SendView
from postroom.service.writing import composing
from postroom.service.writing.composing import DraftRequest, ReplyRequest

_WISHES = Wishes(confirm=True, require_approval=True)  # whichever gate the operator chose, a file is needed


async def send_mail(gateway: Gateway, request: DraftRequest) -> SendView:
    draft = composing.checked(request)
    limits.check_content(draft)
    account = gateway.accounts.named(None).name
    target = masked_few(draft.recipients)
    ended = await _ended_early(gateway, "send_email", account, target, Wanted.of_draft("email_send", draft))
    return ended or await send.send(gateway, await send.order_mail(gateway, request, _WISHES))


async def reply(gateway: Gateway, thread_id: str, email_id: str, request: ReplyRequest) -> SendView:
    """NotFound, reason thread_gone, where the thread or the message is gone or the one is not part of the other."""
    composing.check_text("", request.body, request.body_html)
    limits.check_body(request.body, request.body_html)
    account = await _account_of(gateway, thread_id, email_id)
    ended = await _ended_early(gateway, "reply_email", account, "", Wanted("email_reply", thread_id))
    if ended is not None:
        return ended
    try:
        order = await send.order_reply(gateway, email_id, request, _WISHES)
    except NotFound:
        raise thread_gone(thread_id) from None
    if order.draft.threading.thread_ref != thread_id:
        raise thread_gone(thread_id)
    return await send.send(gateway, order)


async def _account_of(gateway: Gateway, thread_id: str, email_id: str) -> str:
    """By the ids alone, which are only checked for their form."""
    (thread,) = await gateway.ids.find(gateway, HandleKind.THREAD, [thread_id], None)
    (email,) = await gateway.ids.find(gateway, HandleKind.EMAIL, [email_id], None)
    if isinstance(thread, NotFound) or isinstance(email, NotFound):
        raise thread_gone(thread_id)
    if isinstance(email, PostroomError):
        raise email
    return email.account


async def _ended_early(gateway: Gateway, tool: str, account: str, target: str, wanted: Wanted) -> SendView | None:
    """The result of dev mode, audited; None where the provider may be asked now."""
    record = Record.of_call(tool, gateway.now(), target)
    if gateway.settings.safety.dev_mode:
        return await audited(gateway, record, _logged_only(account))
    async with failure_audited(gateway, record):
        await handwritten.require(gateway, wanted)
        await gateway.in_thread(gateway.store.rate.check, account)
    return None


async def _logged_only(account: str) -> SendView:
    return SendView(status="dev_mode", account=account, message="[DEV_MODE] Logged but not executed.")
