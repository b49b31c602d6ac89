"""What the operator decided: which gate, who may be written to, how much."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroom.model.address import Address, domain_key

DEFAULT_MAX_BYTES = 25 * 2**20


class Gate(StrEnum):
    """How a person approves a send. Ordered from the loosest to the tightest in `_TIGHTNESS`."""

    CONFIRM = "confirm"  # preview unless confirm: true
    PREVIEW = "preview"  # confirm: true counts only for exactly what was previewed in the last ten minutes
    AUTO = "auto"  # ask through the client where it can, else preview; strangers always need a person
    ELICIT = "elicit"  # the person is asked through the client; where it cannot ask, by approval
    APPROVAL = "approval"  # a person approves in the vault, on the page or on the command line

    @property
    def asks_in_client(self) -> bool:
        return self in (Gate.AUTO, Gate.ELICIT)


_TIGHTNESS = list(Gate)


def tightest(*gates: Gate) -> Gate:
    """A request or a client's setting can only tighten the operator's choice."""
    return max(gates, key=_TIGHTNESS.index)


@dataclass(frozen=True, slots=True)
class Policy:
    gate: Gate = Gate.AUTO
    allow: tuple[str, ...] = ()  # addresses or *@domain; when given, nobody else may be written to
    block: tuple[str, ...] = ()
    max_bytes: int = DEFAULT_MAX_BYTES

    def can_judge(self, address: Address) -> bool:
        """Only the mail server knows whom a routed address reaches, so a list cannot decide about it."""
        return not (address.is_routed and (self.allow or self.block))

    def allows(self, address: Address) -> bool:
        return not self.allow or self.vouches_for(address)

    def blocks(self, address: Address) -> bool:
        return _listed(address, self.block)

    def vouches_for(self, address: Address) -> bool:
        """On the allow-list, and therefore no stranger."""
        return not address.is_routed and _listed(address, self.allow)


def _listed(address: Address, patterns: tuple[str, ...]) -> bool:
    return any(_matches(address, pattern.strip()) for pattern in patterns)


def _matches(address: Address, pattern: str) -> bool:
    """``alice@example.com`` that address; ``*@example.com`` that domain and none below it."""
    return (
        address.domain == domain_key(pattern[2:]) if pattern.startswith("*@") else address.key == Address(pattern).key
    )
