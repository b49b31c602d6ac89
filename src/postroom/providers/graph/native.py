"""Graph's own verbs for writing: sendMail, reply, replyAll, forward. Who gets a reply is found in the original."""

from __future__ import annotations

from functools import partial

from postroom.model.address import Address
from postroom.model.errors import NotFound, ProviderError
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.providers import vacations
from postroom.providers.graph.mail.convert import people, person, recipients
from postroom.providers.graph.mail.reading import gone
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON
from postroom.providers.http.concurrency import all_of

KINDS: frozenset[NativeKind] = frozenset({"send", "reply", "reply_all", "forward", "vacation"})
_VERBS = {"reply": "reply", "reply_all": "replyAll", "forward": "forward"}
# What a preview reads of the original, as the contract of the dialect `graph` writes it (docs/contracts/graph.md).
_ANSWERED = "subject,from,toRecipients,ccRecipients"
_FORWARDED = "subject,from,hasAttachments"
_DIVERTED = "replyTo"


def path_of(action: NativeAction) -> str:
    return "/sendMail" if action.kind == "send" else wire.message(action.original_ref, _VERBS[action.kind])


def endpoint_of(action: NativeAction) -> str:
    """Its path, without the id."""
    return "/sendMail" if action.kind == "send" else f"/messages/{{id}}/{_VERBS[action.kind]}"


def body_of(action: NativeAction, *, save_to_sent: bool) -> JSON:
    """Never a comment together with a body, which the service rejects; no comment where there is no text."""
    if action.kind == "send":
        return {"message": _message(action), "saveToSentItems": save_to_sent}
    named = {"toRecipients": recipients(action.named.to)} if action.kind == "forward" else {}
    if action.html or action.named.cc or action.named.bcc:
        return {"message": {**_only(_message(action), "body", "ccRecipients", "bccRecipients"), **named}}
    return {**({"comment": action.text} if action.text else {}), **named}


def _message(action: NativeAction) -> JSON:
    kind, content = ("HTML", action.html) if action.html else ("Text", action.text)
    fields: JSON = {
        "subject": action.subject,
        "body": {"contentType": kind, "content": content},
        "toRecipients": recipients(action.named.to),
        "ccRecipients": recipients(action.named.cc),
        "bccRecipients": recipients(action.named.bcc),
        "importance": action.importance.value,
    }
    return {name: value for name, value in fields.items() if value != []}


def _only(message: JSON, *names: str) -> JSON:
    return {name: value for name, value in message.items() if name in names}


async def reached(client: Client, action: NativeAction, own: frozenset[str]) -> Recipients:
    """Everyone whom the action would reach now. A reply goes where Reply-To says, which is asked beside the rest. `own`
    are the keys of the mailbox's own addresses, to which nobody replies."""
    if action.kind == "vacation":
        return vacations.REACHED
    if action.kind in ("send", "forward"):
        if action.kind == "forward":
            await _original(client, action, _FORWARDED)
        return action.named
    asked = [partial(_original, client, action, fields) for fields in (_ANSWERED, _DIVERTED)]
    original, diverted = await all_of(asked)
    if not isinstance(diverted.get("replyTo"), list):
        raise ProviderError("Microsoft did not say whom a reply reaches. Try again later.")
    to = people(diverted["replyTo"]) or (person(original.get("from")),)
    cc: tuple[Address, ...] = ()
    if action.kind == "reply_all":
        seen = {*own, *(one.key for one in to)}
        to = (*to, *(one for one in people(original.get("toRecipients")) if one.key not in seen))
        seen |= {one.key for one in to}
        cc = tuple(one for one in people(original.get("ccRecipients")) if one.key not in seen)
    return Recipients(_once(to), _once((*cc, *action.named.cc)), _once(action.named.bcc))


async def _original(client: Client, action: NativeAction, fields: str) -> JSON:
    if not wire.is_ref(action.original_ref):
        raise gone()
    try:
        return await client.get(wire.message(action.original_ref), {"$select": fields})
    except NotFound:
        raise gone() from None


def _once(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    return tuple({one.key: one for one in reversed(addresses)}.values())[::-1]
