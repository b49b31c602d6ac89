"""Orders that the provider carries out by an action of its own: "reply to this with this text".

Only where the caller's dialect wants it (`Wishes.native`), the provider offers the verb, and the verb can say all that
was asked for; whatever else is composed here, as ever, and so is what concerns a draft: it could still change in more
than a digest of the original covers. The Draft beside an action describes the message that it comes
to, with everyone it reaches, for the judge, the letter and the lists of recipients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from postroom.mime.write import reply
from postroom.model.draft import Draft, Threading
from postroom.model.message import Message
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.providers.protocol import NativeActions
from postroom.safety.native import original_digest
from postroom.service.gateway import Account
from postroom.service.sending.order import Wishes
from postroom.service.writing import composing
from postroom.service.writing.composing import DraftRequest, ForwardRequest, ReplyRequest


async def new_mail(
    account: Account, request: DraftRequest, draft: Draft, wishes: Wishes
) -> tuple[Draft, NativeAction | None]:
    said = DraftRequest(
        to=request.to, cc=request.cc, bcc=request.bcc, subject=request.subject,
        body=request.body, body_html=request.body_html, importance=request.importance,
    )  # fmt: skip
    if request != said or not _offers(account, "send", wishes):
        return draft, None
    return await _described(account, draft, NativeAction("send", named=Recipients(draft.to, draft.cc, draft.bcc)))


async def answer(
    account: Account, original: Message, request: ReplyRequest, wishes: Wishes
) -> tuple[Draft, NativeAction] | None:
    """None where it is composed."""
    kind: NativeKind = "reply_all" if request.reply_all else "reply"
    said = ReplyRequest(
        request.body, body_html=request.body_html, reply_all=request.reply_all, importance=request.importance
    )
    if request != said or original.envelope.draft or not _offers(account, kind, wishes):
        return None
    if not await _is_to_default(account, original):
        return None
    composing.check_text("", request.body, request.body_html)
    draft = Draft(
        sender=(await composing.find_identity(account, "")).address,
        subject=reply.reply_subject(composing.usable_subject(original.envelope.subject)),
        text=request.body,
        html=request.body_html,
        importance=composing.parse_importance(request.importance),
        threading=Threading(thread_ref=original.envelope.thread_ref),
    )
    return await _described(account, draft, NativeAction(kind), original)


async def forward(
    account: Account, original: Message, request: ForwardRequest, draft: Draft, wishes: Wishes
) -> tuple[Draft, NativeAction | None]:
    """`draft` is the forward as it would be composed: the original in it is what the provider takes along."""
    if request.identity or request.inline or original.envelope.draft or not _offers(account, "forward", wishes):
        return draft, None
    if not await _is_to_default(account, original):
        return draft, None
    named = Recipients(draft.to, draft.cc, draft.bcc)
    described, action = await _described(account, draft, NativeAction("forward", named=named), original)
    return described, replace(action, text=request.comment)


async def _is_to_default(account: Account, original: Message) -> bool:
    """Providers act as the account's own address, and a message that came to another one is answered from there."""
    identities = await account.identities.get()
    return composing.addressed_as(original.envelope, identities) in ("", identities[0].address.email)


def _offers(account: Account, kind: NativeKind, wishes: Wishes) -> bool:
    if not (wishes.native and account.capabilities.can_send):
        return False
    transport = account.transport
    return isinstance(transport, NativeActions) and kind in transport.native_kinds


async def _described(
    account: Account, draft: Draft, action: NativeAction, original: Message | None = None
) -> tuple[Draft, NativeAction]:
    """Both with everyone whom the provider says it will reach."""
    action = replace(
        action,
        original_ref=original.envelope.ref if original else "",
        original_sha256=original_digest(original) if original else "",
        subject=draft.subject,
        text=draft.text,
        html=draft.html,
        importance=draft.importance,
    )
    told = await cast("NativeActions", account.transport).recipients_of(action)
    everyone = Recipients(*(reply.presentable(field) for field in (told.to, told.cc, told.bcc)))
    described = replace(draft, to=everyone.to, cc=everyone.cc, bcc=everyone.bcc)
    return described, replace(action, everyone=everyone)
