"""What the judge is told about an order: who was written to before, what was previewed, what looks like a repeat."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.model.address import Address
from postroom.model.errors import PostroomError
from postroom.providers.protocol import RecipientCheck
from postroom.safety.judge import Facts
from postroom.safety.policy import DEFAULT_MAX_BYTES, Gate, Policy, tightest
from postroom.service.gateway import Account, Gateway
from postroom.service.sending.acquaintances import acquainted
from postroom.service.sending.order import Order, likeness


def policy_for(gateway: Gateway, account: Account, *, require_approval: bool = False) -> Policy:
    safety = gateway.settings.safety
    wished = Gate.APPROVAL if require_approval else Gate.CONFIRM
    limit = account.capabilities.max_attachment_size_mb
    return Policy(
        gate=tightest(Gate(safety.gate), wished),
        allow=tuple(safety.allow_recipients),
        block=tuple(safety.block_recipients),
        max_bytes=limit * 2**20 if limit else DEFAULT_MAX_BYTES,
    )


async def facts_for(gateway: Gateway, order: Order, policy: Policy) -> Facts:
    name, wishes, draft = order.account.name, order.wishes, order.draft
    said = order.native or draft  # as `settling` remembers it

    def stored() -> tuple[bool, bool]:
        like = likeness(draft.to, draft.subject, said.html or said.text)
        return (
            gateway.store.previews.is_valid(name, order.digest),
            gateway.store.duplicates.seen_recently(name, like),
        )

    previewed, duplicate = await gateway.in_thread(stored)
    seen = order.looked_up
    if order.kind in ("unsubscribe", "vacation"):  # where a header leads, and who will write, is unknown each time
        seen.known, seen.unreachable = frozenset(), ()
    if seen.known is None:  # an older look is the safer one: Sent may have been arranged since
        seen.known = await known_recipients(gateway, order.account, draft.recipients, policy)
    if seen.unreachable is None:
        seen.unreachable = await _unreachable(order.account, draft.recipients)
    return Facts(
        kind=order.kind,
        confirm=wishes.confirm,
        previewed=previewed,
        can_elicit=wishes.can_elicit,
        answer=wishes.answer.verdict if wishes.answer else None,
        known=seen.known,
        own=await _own_address(order.account),
        is_shared=order.account.is_shared,
        duplicate=duplicate,
        unreachable=seen.unreachable,
    )


async def _own_address(account: Account) -> Address:
    """Never the address that a message is from: tools can make an alias of any address that the provider takes."""
    if account.settings.address:
        return Address(account.settings.address)
    return next((one.address for one in await account.identities.get() if one.is_default), Address(""))


async def _unreachable(account: Account, recipients: Iterable[Address]) -> tuple[str, ...]:
    """A warning only: if it cannot be checked now, the provider will report it on submission."""
    if not isinstance(account.mailbox, RecipientCheck):
        return ()
    try:
        return tuple(await account.mailbox.unreachable([address.email for address in recipients]))
    except PostroomError:
        return ()


async def known_recipients(
    gateway: Gateway, account: Account, recipients: Iterable[Address], policy: Policy
) -> frozenset[str]:
    """Those this account has written to: accepted by the provider in earlier sends, or found in Sent.

    What Sent shows is asked again each time: it may have been arranged for the moment.
    """
    keys = [address.key for address in recipients if not (address.is_routed or policy.vouches_for(address))]

    def remembered() -> tuple[set[str], set[str]]:
        written_to = gateway.store.recipients
        return written_to.known(account.name, keys), written_to.lists(account.name, keys)

    known, lists = await gateway.in_thread(remembered)
    return frozenset(known | await acquainted(gateway, account, [key for key in keys if key not in known | lists]))
