"""Graph's names: properties, paths, preferences. The only place that spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

JSON = dict[str, Any]

# MAPI properties that a message has without a property of its own in Graph.
SIZE, LAST_VERB, IN_REPLY_TO, REFERENCES = "Integer 0x0E08", "Integer 0x1081", "String 0x1042", "String 0x1039"
REPLIED, REPLIED_TO_ALL, FORWARDED = "102", "103", "104"  # values of LAST_VERB

ROW = (
    "id,conversationId,parentFolderId,subject,from,sender,toRecipients,ccRecipients,bccRecipients,replyTo,"
    "receivedDateTime,isRead,isDraft,flag,hasAttachments,categories,internetMessageId"
)
EXTRAS = "singleValueExtendedProperties($filter={})".format(
    " or ".join(f"id eq '{one}'" for one in (SIZE, LAST_VERB, IN_REPLY_TO, REFERENCES))
)
FILES = "attachments($select=id,name,contentType,size,isInline)"
NEXT, COUNT, ETAG, TYPE = "@odata.nextLink", "@odata.count", "@odata.etag", "@odata.type"

TAKEN = 202  # for sending, and nothing else is a success
PER_BATCH = 20
PER_PAGE = 100
MOST_SEARCHED = 1000  # results of a $search; the service gives no more

_REF = re.compile(r"[A-Za-z0-9_+/=-]{16,1024}\Z")


def prefer(*more: str) -> str:
    return ", ".join(('IdType="ImmutableId"', *more))


def is_ref(text: str) -> bool:
    """Whether it may be an id: anything else must not become part of an address."""
    return _REF.match(text) is not None


def quoted(ref: str) -> str:
    """An id as one segment of a path: it may contain slashes."""
    return quote(ref, safe="")


def message(ref: str, *below: str) -> str:
    return "/".join(("/messages", quoted(ref), *below))


def folder(ref: str, *below: str) -> str:
    return "/".join(("/mailFolders", quoted(ref), *below))


def query(params: Mapping[str, Any]) -> str:
    """As Microsoft writes it: ``?$select=subject,from``, and no plus for a space."""
    return f"?{urlencode(params, quote_via=quote, safe='$,')}" if params else ""


def literal(text: str) -> str:
    """A string of an OData filter."""
    return "'" + text.replace("'", "''") + "'"


def objects(value: Any) -> list[JSON]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def inner(value: Any) -> JSON:
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def number(value: str) -> int | None:
    """Of a size or a place in a file; None for any other text, however long."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 20 else None


def extended(message: JSON) -> dict[str, str]:
    """The extended properties by the names above; the service spells them in its own way (``Integer 0xe08``)."""
    found = {_number(text(one.get("id"))): text(one.get("value")) for one in objects(message.get(_EXTENDED))}
    return {name: found[_number(name)] for name in (SIZE, LAST_VERB, IN_REPLY_TO, REFERENCES) if _number(name) in found}


_EXTENDED = "singleValueExtendedProperties"


def property_value(name: str, value: str) -> JSON:
    return {_EXTENDED: [{"id": name, "value": value}]}


def _number(name: str) -> int:
    try:
        return int(name.rpartition(" ")[2], 16)
    except ValueError:
        return -1
