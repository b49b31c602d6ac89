"""How dialects differ, as data: the only place where anything depends on a dialect's name.

A dialect's package defines tools and the wording of results; what the rest of the gateway does differently for it is in
its row here and is read as `Settings.traits`. A row may exist before its package; `load_dialect` rejects that dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from postroom.settings.sections import Gate, Toolset

IdForm = Literal["handle", "provider", "number"]
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class LogField:
    """One field of a tool's log line, under its contract's name. No form logs any text of the caller:
    `count` of addresses, a `choice` (a switch, or a value that the schema lists), or whether an argument `is_given`."""

    name: str
    arguments: tuple[str, ...]
    form: Literal["count", "choice", "is_given"]


@dataclass(frozen=True, slots=True)
class Traits:
    toolsets: tuple[Toolset, ...] = ("read", "organise", "drafts", "send")  # on unless the operator names others
    ids: IdForm = "handle"  # short handles, the provider's own ids, or numbers within a folder
    has_transport: bool = True  # False: guaranteed by structure, nothing that could send is ever built
    gate: Gate = "auto"  # unless the operator names one
    heeds_handwritten: bool = (
        False  # approvals that a person wrote by hand release sends, and nothing waits for another
    )
    key_seconds: float = 30 * _DAY  # how long an idempotency key is remembered
    dev_mode_covers_drafts: bool = False
    may_trust_network: bool = False  # a publicly reachable address may be served without a token, if configured so
    request_bytes: int = 0  # of an HTTP request, where files come within a call; 0: as large as any other
    adds_signature: bool = False  # below what is written; False: bodies are what the contract says they are
    has_fences: bool = True  # untrusted text is put between marks; False: results follow the contract word for word
    log_fields: Mapping[str, tuple[LogField, ...]] = field(default_factory=lambda: MappingProxyType({}))  # by tool
    audited_tools: frozenset[str] = frozenset()  # every call of them, beside what comes to the gate
    audit_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # the gate's own -> shown


_COUNTED_SEND = LogField("recipientCount", ("to", "cc"), "count")
_COUNTED_FORWARD = LogField("recipientCount", ("to",), "count")

TRAITS: dict[str, Traits] = {
    "postroom": Traits(adds_signature=True),
    "drafts": Traits(toolsets=("read", "drafts"), ids="number", has_transport=False, has_fences=False),
    "graph": Traits(
        toolsets=("read", "send"),
        ids="provider",
        gate="confirm",
        key_seconds=600.0,
        request_bytes=8 * 2**20,  # one attachment under 4 MB in base64, and the rest
        has_fences=False,
        log_fields={
            "send_email": (
                _COUNTED_SEND,
                LogField("bodyType", ("body_type",), "choice"),
                LogField("importance", ("importance",), "choice"),
            ),
            "reply_email": (LogField("replyAll", ("reply_all",), "choice"),),
            "forward_email": (_COUNTED_FORWARD, LogField("hasComment", ("comment",), "is_given")),
        },
    ),
    # Neither contract has an argument that could confirm a preview, so a person is asked.
    "mailapi": Traits(
        toolsets=("read", "organise", "send"), ids="provider", gate="elicit", may_trust_network=True, has_fences=False
    ),
    "intentmail": Traits(
        toolsets=("read", "organise", "rules", "send", "identities"),
        ids="provider",
        gate="elicit",
        request_bytes=8 * 2**20,  # attachments come within a call
        adds_signature=True,  # its create_alias gives an identity one
        has_fences=False,
        audit_names={"send_email": "send_message", "reply_email": "send_message"},
    ),
    "vault": Traits(
        toolsets=("read", "drafts", "send"),
        ids="provider",
        gate="approval",
        heeds_handwritten=True,
        dev_mode_covers_drafts=True,
        has_fences=False,
        audited_tools=frozenset({"search_email", "draft_email", "send_email", "reply_email"}),
    ),
}


def logged_names() -> frozenset[str]:
    """Every name under which some dialect logs."""
    return frozenset(one.name for traits in TRAITS.values() for fields in traits.log_fields.values() for one in fields)
