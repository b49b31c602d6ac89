"""What one connected account supports, detected once after login."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Whatever is False here raises Unsupported everywhere, and the contract suite checks that."""

    provider: str
    can_draft: bool = False
    can_send: bool = False
    can_label: bool = False
    can_create_folder: bool = False
    can_rename_folder: bool = False
    has_many_folders: bool = False
    can_create_alias: bool = False
    has_threading: bool = False
    has_raw: bool = False
    has_server_side_rules: bool = False
    has_vacation: bool = False
    has_push: bool = False
    has_shared_mailboxes: bool = False
    has_uids: bool = False
    has_delta: bool = False
    max_attachment_size_mb: int | None = None
    requests_per_second: float | None = None
    burst: int | None = None
    paces_itself: bool = False  # the provider keeps to these two figures; otherwise `layers.limit` does
    changes_at_once: int = 100  # messages of one call to flag, move or label; between two calls progress is reported
    search_not_applied: tuple[str, ...] = ()  # query fields it cannot apply at all (`larger`): ignored and reported
