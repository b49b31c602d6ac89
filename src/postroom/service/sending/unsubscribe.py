"""Leave a mailing list: an order like any other, whether it becomes an email or a one-click request."""

from __future__ import annotations

from functools import partial

from postroom.mime.sender_facts import judge
from postroom.model.draft import Draft
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.message import Message
from postroom.model.native import NativeAction, Recipients
from postroom.model.unsubscribing import TOOL, Ways, host_of, mailto_parts, one_click_address, ways_of
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import locate
from postroom.service.sending.order import Order, Wishes, make_order
from postroom.service.sending.send import check_wishes, known_by
from postroom.service.writing import composing

_SIGNED = "The sender signed these headers (DKIM), and the signature was found valid."
_UNSIGNED = "Whether the sender really wrote these headers is not known: no valid DKIM signature covers them."


async def order_unsubscribe(
    gateway: Gateway, email_id: str, wishes: Wishes, account: str | None = None, method: str = "auto"
) -> Order:
    """By one click if the list offers it, else by mail; `method` insists on one of them."""
    check_wishes(wishes)
    opened, ref = await locate(gateway, email_id, account)
    original = await composing.fetch_original(opened, ref, email_id)
    ways = ways_of(original.headers)
    write = partial(make_order, gateway, opened, TOOL, original=known_by(original))
    if ways.one_click and method in ("auto", "one_click"):
        draft, action = await _one_click(opened, original, ways)
        return await write("unsubscribe", draft, wishes, native=action)
    if ways.mailto and method in ("auto", "email"):
        return await write("email_send", await _by_mail(gateway, opened, original, ways), wishes)
    raise _no_way(ways, method)


async def _one_click(account: Account, original: Message, ways: Ways) -> tuple[Draft, NativeAction]:
    """What the person is shown is all of the request; the action's text is its address. Nothing of the original goes
    along: it may be archived or deleted before the person approves."""
    to, host = one_click_address(ways.one_click), host_of(ways.one_click)
    facts = judge(
        original.headers, original.envelope.sender, (), (), trusted=getattr(account.settings, "authserv_id", "")
    )
    signed = _SIGNED if ways.is_signed and facts.dkim == "pass" else _UNSIGNED
    draft = Draft(
        sender=(await composing.find_identity(account, "")).address,
        to=(to,),
        subject=f"Unsubscribe at {host}",
        text=f"This request goes to {host}, without cookies or a login:\n\nPOST {ways.one_click}\n"
        f"List-Unsubscribe=One-Click\n\n{signed}",
    )
    action = NativeAction(
        "unsubscribe",
        named=Recipients(to=(to,)),
        everyone=Recipients(to=(to,)),
        subject=draft.subject,
        text=ways.one_click,
    )
    return draft, action


async def _by_mail(gateway: Gateway, account: Account, original: Message, ways: Ways) -> Draft:
    """From the address that the list wrote to, and without a signature: a list learns no more than it knew."""
    to, subject, body = mailto_parts(ways.mailto)
    request = composing.DraftRequest(
        (to,),
        subject=composing.usable_subject(subject),
        body=body,
        identity=composing.addressed_as(original.envelope, await account.identities.get()),
        signature=False,
    )
    return await composing.new_mail(gateway, account, request)


def _no_way(ways: Ways, method: str) -> NotFound | InvalidRequest:
    if ways.one_click or ways.mailto:
        offered = " and ".join(name for name, url in (("one_click", ways.one_click), ("email", ways.mailto)) if url)
        return InvalidRequest(f"This list offers {offered}, not {method}.", details={"field": "method"})
    if ways.page:
        return NotFound("This list can only be left on a web page, which needs a person: the user must open it.")
    return NotFound("This message names no way to unsubscribe in its headers. Links in its text are never followed.")
