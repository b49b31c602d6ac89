"""Durable state: handles, the journal that undo reads, and everything that makes sending safe.

Embedded in one SQLite file (WAL), shared by every process of one machine. Knows no provider and no mail content beyond
what it must keep to keep its promises.
"""

from __future__ import annotations

from postroom.store.audit.entry import AuditEntry
from postroom.store.audit.log import AuditReport
from postroom.store.handles import Handle
from postroom.store.journal import JournalItem, Operation
from postroom.store.plans import NewPlan, PlanItem, StoredPlan
from postroom.store.rules import NewRule, StoredRule
from postroom.store.sends.approvals import Approval, ApprovalState
from postroom.store.sends.outbox import Reservation
from postroom.store.sends.rate import RateLimit, RateStatus
from postroom.store.sends.send_rows import NewSend, Send, SendEvent
from postroom.store.sends.states import State
from postroom.store.store import Store, open_store

__all__ = [
    "Approval",
    "ApprovalState",
    "AuditEntry",
    "AuditReport",
    "Handle",
    "JournalItem",
    "NewPlan",
    "NewRule",
    "NewSend",
    "Operation",
    "PlanItem",
    "RateLimit",
    "RateStatus",
    "Reservation",
    "Send",
    "SendEvent",
    "State",
    "Store",
    "StoredPlan",
    "StoredRule",
    "open_store",
]
