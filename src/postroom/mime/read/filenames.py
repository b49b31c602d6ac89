"""Names of attachments: untrusted file names, made safe to show and to save under."""

from __future__ import annotations

import re

from postroom.mime.clean import clean_line
from postroom.mime.limits import MAX_FILENAME

_UNSAFE = re.compile(r'[<>:"|?*\x00-\x1f\x7f/\\]+')

# Windows refuses these names with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE)

_EXTENSIONS = {
    "text/plain": ".txt",
    "text/html": ".html",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/rfc822-headers": ".txt",
    "message/rfc822": ".eml",
    "message/delivery-status": ".txt",
    "message/disposition-notification": ".txt",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "application/json": ".json",
    "application/ics": ".ics",
    "application/ms-tnef": ".dat",
    "application/pgp-signature": ".asc",
    "application/pkcs7-signature": ".p7s",
    "application/pkcs7-mime": ".p7m",
    "application/msword": ".doc",
}


def safe_filename(wanted: str, mime_type: str, part: str) -> str:
    """Never empty, never a path, never hidden, never longer than most file systems allow."""
    last = wanted.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = _UNSAFE.sub("_", clean_line(last)).strip(". ")
    if not name:
        return f"attachment-{part}{_EXTENSIONS.get(mime_type, '.bin')}"
    if _DEVICES.match(name):
        name = f"_{name}"
    return _shortened(name)


def message_filename(wanted: str, subject: str) -> str:
    """An attached message without a file name is named after its own subject."""
    name = safe_filename(wanted or subject.replace("/", "_").replace("\\", "_") or "message", "message/rfc822", "1")
    return name if name.lower().endswith(".eml") else f"{name}.eml"


def _shortened(name: str) -> str:
    if len(name) <= MAX_FILENAME:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension) > 10:
        return name[:MAX_FILENAME]
    return f"{stem[: MAX_FILENAME - len(extension) - 1]}.{extension}"
