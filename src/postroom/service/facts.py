"""What the judge is told about an order: who was written to before, what was previewed, what looks like a repeat."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.model.address import Address
from postroom.model.errors import PostroomError
from postroom.model.folder import Role
from postroom.model.query import Correspondent, In, Or, Query
from postroom.safety.judge import Facts
from postroom.safety.policy import Gate, Policy, tightest
from postroom.service.house import Account, House
from postroom.service.order import Order, likeness

DEFAULT_MAX_BYTES = 25 * 2**20


def policy_for(house: House, account: Account, *, require_approval: bool = False) -> Policy:
    safety = house.settings.safety
    wished = Gate.APPROVAL if require_approval else Gate.CONFIRM
    limit = account.capabilities.max_attachment_size_mb
    return Policy(
        gate=tightest(Gate(safety.gate), wished),
        allow=tuple(safety.allow_recipients),
        block=tuple(safety.block_recipients),
        max_bytes=limit * 2**20 if limit else DEFAULT_MAX_BYTES,
    )


async def facts_for(house: House, order: Order, policy: Policy) -> Facts:
    name, wishes, draft = order.account.name, order.wishes, order.draft

    def stored() -> tuple[bool, bool]:
        return (
            house.store.previews.is_valid(name, order.digest),
            house.store.duplicates.seen_recently(name, likeness(draft.to, draft.subject, draft.text or draft.html)),
        )

    previewed, duplicate = await house.stored(stored)
    return Facts(
        kind=order.kind,
        confirm=wishes.confirm,
        previewed=previewed,
        can_elicit=wishes.can_elicit,
        answer=wishes.answer.verdict if wishes.answer else None,
        known=await known_recipients(house, order.account, order.draft.recipients, policy),
        own_domain=order.draft.sender.domain,
        duplicate=duplicate,
    )


async def known_recipients(
    house: House, account: Account, recipients: Iterable[Address], policy: Policy
) -> frozenset[str]:
    """Those this account has written to: remembered from earlier sends, or found in Sent."""
    keys = [address.key for address in recipients if not (address.is_routed or policy.vouches_for(address))]
    known = set(await house.stored(house.store.recipients.known, account.name, keys))
    found = {key for key in keys if key not in known and await _stands_in_sent(account, key)}
    if found:
        await house.stored(house.store.recipients.remember, account.name, sorted(found))
    return frozenset(known | found)


async def _stands_in_sent(account: Account, key: str) -> bool:
    """A provider that cannot tell leaves the recipient a stranger: doubt asks a person."""
    query = Query().narrowed(In(Role.SENT.value), Or((Correspondent("to", key), Correspondent("cc", key))))
    try:
        page = await account.mailbox.search(query, limit=20, offset=0)
    except PostroomError:
        return False
    return any(address.key == key for found in page.items for address in (*found.to, *found.cc, *found.bcc))
