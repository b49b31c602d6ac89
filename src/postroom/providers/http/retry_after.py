"""Retry-After: seconds, or a date (RFC 9110, 10.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_LONGEST = 4 * 3600.0  # seconds, after which a message is tried again whatever was asked for; longer values are capped


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `now`, the wall clock's time; None where the header is missing or invalid."""
    text = headers.get("retry-after", "").strip()[:100]
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    moment = date if date.tzinfo else date.replace(tzinfo=UTC)
    return min(max(0.0, moment.timestamp() - now), _LONGEST)
