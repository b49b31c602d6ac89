"""Send, reply, forward, send a draft: four ways to write an order, one gate they all go through."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from postroom.mime.read.parse import parse_headers
from postroom.model.draft import Draft
from postroom.model.errors import InvalidRequest, NotFound, PostroomError
from postroom.model.ids import Kind as HandleKind
from postroom.model.message import Message
from postroom.safety import limits
from postroom.safety.judge import Kind
from postroom.safety.limits import MAX_SUBJECT
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import locate, shown_address
from postroom.service.sending import gate, native
from postroom.service.sending.order import Order, Wishes, make_order
from postroom.service.sending.receipts import already
from postroom.service.views import SendView
from postroom.service.writing import composing
from postroom.service.writing import draft as drafts
from postroom.service.writing.composing import DraftRequest, ForwardRequest, ReplyRequest

MAX_KEY = 200


async def order_mail(gateway: Gateway, request: DraftRequest, wishes: Wishes, account: str | None = None) -> Order:
    check_wishes(wishes)
    opened = await gateway.accounts.open(account)
    composed = await composing.new_mail(gateway, opened, request)
    kind: Kind = "email_reply" if request.in_reply_to else "email_send"
    draft, action = await native.new_mail(opened, request, composed, wishes)
    write = partial(make_order, gateway, opened, "send_email", kind, draft, wishes)
    return await write(answers_ref=composed.threading.in_reply_to, native=action)


async def order_reply(
    gateway: Gateway, email_id: str, request: ReplyRequest, wishes: Wishes, account: str | None = None
) -> Order:
    check_wishes(wishes)
    opened, ref = await locate(gateway, email_id, account)
    original = await composing.fetch_original(opened, ref, email_id)
    write = partial(make_order, gateway, opened, "reply_email", "email_reply")
    known, answers = known_by(original), await lasting(gateway, opened, email_id, ref)
    by_provider = await native.answer(opened, original, request, wishes)
    if by_provider is None:
        draft = await composing.reply_to(gateway, opened, original, request)
        return await write(draft, wishes, original=known, answers_ref=answers)
    draft, action = by_provider
    quoted = await gateway.read(composing.quoted_text, original)
    return await write(draft, wishes, original=known, answers_ref=answers, native=action, quoted=quoted)


async def order_forward(
    gateway: Gateway, email_id: str, request: ForwardRequest, wishes: Wishes, account: str | None = None
) -> Order:
    check_wishes(wishes)
    opened, ref = await locate(gateway, email_id, account)
    original = await composing.fetch_original(opened, ref, email_id)
    composed = await composing.forward_of(gateway, opened, original, request)
    draft, action = await native.forward(opened, original, request, composed, wishes)
    write = partial(make_order, gateway, opened, "forward_email", "email_forward", draft, wishes)
    answers = await lasting(gateway, opened, email_id, ref)
    return await write(original=known_by(original), answers_ref=answers, native=action)


async def order_draft(gateway: Gateway, draft_id: str, wishes: Wishes, account: str | None = None) -> Order | SendView:
    """A result instead of an order where the draft is gone because the same call, by its key, has sent it before."""
    check_wishes(wishes)
    try:
        opened, saved = await drafts.find_draft(gateway, draft_id, account)
        draft = await drafts.load_own_draft(opened, saved)
    except NotFound:
        earlier = await _sent_before(gateway, draft_id, wishes)
        if earlier is None:
            raise
        return earlier
    kind, answers = _origin(draft)
    order = await make_order(
        gateway, opened, "send_draft", kind, draft, wishes, draft_ref=saved.ref, answers_ref=answers
    )
    return replace(order, draft_version=saved.version)


async def send(gateway: Gateway, order: Order) -> SendView:
    """The gate, under the name a caller looks for."""
    return await gate.send(gateway, order)


async def question(gateway: Gateway, order: Order) -> gate.Question | None:
    """What to ask the person through the client, where the gate wants it; None where there is nothing to ask."""
    return await gate.question(gateway, order)


async def sent_by(gateway: Gateway, tool: str, key: str, call_sha256: str) -> SendView | None:
    """What the same call, by its key and arguments, has sent before. For where it cannot be written once more, because
    what it answers or forwards is gone: then its content cannot be compared."""
    held = await gateway.in_thread(gateway.store.keys.held_by_call, tool, key, call_sha256)
    visible = [send for send in held if gateway.accounts.may_see(send.account)]
    return await already(gateway, visible[0]) if visible else None


async def lasting(gateway: Gateway, account: Account, email_id: str, ref: str) -> str:
    """The message's handle: it stays valid until the send is finished, wherever the message is moved meanwhile."""
    return (await gateway.ids.handles_of(gateway, account.name, {email_id: ref}))[0]


async def _sent_before(gateway: Gateway, draft_id: str, wishes: Wishes) -> SendView | None:
    if not (wishes.confirm and wishes.idempotency_key):
        return None
    (draft,) = await gateway.ids.find(gateway, HandleKind.DRAFT, [draft_id], None)
    if isinstance(draft, PostroomError):
        raise draft
    held = await gateway.in_thread(gateway.store.keys.holder, draft.account, "send_draft", wishes.idempotency_key)
    return await already(gateway, held) if held is not None and held.draft_ref == draft.ref else None


def _origin(draft: Draft) -> tuple[Kind, str]:
    """What a saved draft is, and the Message-ID of the message it answers or takes along."""
    if draft.forwarded is not None:
        return "email_forward", parse_headers(draft.forwarded).message_id
    answered = draft.threading.in_reply_to
    return ("email_reply", answered) if answered else ("email_send", "")


def check_wishes(wishes: Wishes) -> None:
    if len(wishes.idempotency_key) > MAX_KEY or not wishes.idempotency_key.isprintable():
        raise InvalidRequest(
            f"idempotency_key must be at most {MAX_KEY} printable characters.", details={"field": "idempotency_key"}
        )
    if wishes.send_at is None:
        return
    if wishes.send_at.tzinfo is None:
        raise InvalidRequest("send_at needs an offset, like 2026-12-01T09:00:00+01:00.", details={"field": "send_at"})
    limits.check_calendar(wishes.send_at)


def known_by(original: Message) -> tuple[str, str]:
    """The message being answered, as a person is shown it."""
    from postroom.mime.visible import visible_line

    return visible_line(original.envelope.subject[:MAX_SUBJECT]), shown_address(original.envelope.sender)
