"""A message as Gmail shows it (a tree of parts in JSON), written as bytes without its attachments' content.

So one reader serves every provider. Texts come in UTF-8 whatever their Content-Type still says, and header values
decoded, which makes a name with a comma look like two addresses: names are put into quotes again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postroom.mime.read.parameters import read_parameters
from postroom.providers.gmail.session.wire import JSON, number_of, object_of, objects_of, text_of

_MOST_PARTS, _DEEPEST = 300, 50
_BREAKS = re.compile(r"[\r\n\0]+[ \t]*")
_SINGLE = frozenset({"from", "sender"})
_LISTS = frozenset({"to", "cc", "bcc", "reply-to"})
_BARE = re.compile(r"\s*+(?=[^\s<>,;\"]+?@[^\s<>,;\"])[^\s<>,;\"]++\s*+\Z")
_NAMED = re.compile(r"(?<![^<>])([^<>]*+)<([^<>]*+)>")
_LAST = re.compile(r"(.*)<([^<>]*)>[^<>]*\Z")
_QUOTED = re.compile(r'\s*"(?:[^"\\]|\\.)*"\s*\Z')
_SPECIAL = re.compile(r'[,;:@()<>\\\[\]"]')
_CONTENT = ("content-type", "content-transfer-encoding", "mime-version")


def rebuilt(payload: JSON) -> bytes:
    budget = [_MOST_PARTS]
    head = [(name, value) for name, value in headers_of(payload) if name.lower() not in _CONTENT]
    lines = "".join(f"{name}: {_header(name, value)}\r\n" for name, value in head)
    return _encoded(lines) + _part(payload, "0", budget)


def headers_of(part: JSON) -> list[tuple[str, str]]:
    pairs = ((text_of(one.get("name")), text_of(one.get("value"))) for one in objects_of(part.get("headers")))
    return [(name, value) for name, value in pairs if re.fullmatch(r"[!-9;-~]+", name)]


def numbered(payload: JSON) -> Iterator[tuple[str, JSON]]:
    """The leaves by their IMAP numbers; what is inside an attached message is not a part of this one."""
    if not _is_multipart(payload):
        yield "1", payload
        return
    yield from _leaves(payload, "", 0)


def _leaves(part: JSON, prefix: str, depth: int) -> Iterator[tuple[str, JSON]]:
    for index, child in enumerate(_children(part, depth), 1):
        if _is_multipart(child):
            yield from _leaves(child, f"{prefix}{index}.", depth + 1)
        else:
            yield f"{prefix}{index}", child


def size_of(part: JSON) -> int:
    return number_of(object_of(part.get("body")).get("size"))


def data_of(part: JSON) -> str:
    return text_of(object_of(part.get("body")).get("data"))


def attachment_id_of(part: JSON) -> str:
    return text_of(object_of(part.get("body")).get("attachmentId"))


def _part(part: JSON, path: str, budget: list[int]) -> bytes:
    """Its content fields, an empty line, its content."""
    budget[0] -= 1
    if _is_multipart(part):
        return _multipart(part, path, budget)
    fields = {name.lower(): value for name, value in reversed(headers_of(part)) if name.lower().startswith("content-")}
    if text_of(part.get("mimeType")).startswith("text/") and data_of(part):
        fields["content-type"] = _text_type(part, fields.get("content-type", ""))
        fields["content-transfer-encoding"] = "base64"
        content = data_of(part).translate(str.maketrans("-_", "+/"))
    else:
        fields.setdefault("content-type", text_of(part.get("mimeType")) or "application/octet-stream")
        fields.pop("content-transfer-encoding", None)
        content = _subject_line(part)
    lines = "".join(f"{name}: {_unbroken(value)}\r\n" for name, value in fields.items())
    return _encoded(f"{lines}\r\n{content}")


def _multipart(part: JSON, path: str, budget: list[int]) -> bytes:
    boundary = f"=_part_{path}"
    kind = _unbroken(text_of(part.get("mimeType")))
    pieces = [_encoded(f'content-type: {kind}; boundary="{boundary}"\r\n\r\n')]
    for index, child in enumerate(_children(part, path.count("."))):
        if budget[0] <= 0:
            break
        pieces.append(_encoded(f"--{boundary}\r\n") + _part(child, f"{path}.{index}", budget) + b"\r\n")
    return b"".join(pieces) + _encoded(f"--{boundary}--\r\n")


def _children(part: JSON, depth: int) -> list[JSON]:
    return objects_of(part.get("parts")) if depth < _DEEPEST else []


def _is_multipart(part: JSON) -> bool:
    return text_of(part.get("mimeType")).lower().startswith("multipart/")


def _text_type(part: JSON, given: str) -> str:
    """The declared type in UTF-8, with what says how its lines are to be joined, and its name."""
    named = read_parameters(given)
    kept = {name: named.get(name) for name in ("format", "delsp", "name") if named.get(name)}
    parameters = "".join(f'; {name}="{_quotable(value)}"' for name, value in kept.items())
    return f'{_unbroken(text_of(part.get("mimeType")))}; charset="utf-8"{parameters}'


def _subject_line(part: JSON) -> str:
    """Of an attached message only its subject, which names the file."""
    if text_of(part.get("mimeType")) != "message/rfc822":
        return ""
    inner = next(iter(objects_of(part.get("parts"))), {})
    subject = next((value for name, value in headers_of(inner) if name.lower() == "subject"), "")
    return f"Subject: {_unbroken(subject)}\r\n\r\n" if subject else ""


def _header(name: str, value: str) -> str:
    value = _unbroken(value)
    if name.lower() in _SINGLE:
        return _one_address(value)
    return _addresses(value) if name.lower() in _LISTS else value


def _one_address(value: str) -> str:
    """From has one author: whatever precedes the last address is the name, even if it looks like an address."""
    found = _LAST.match(value)
    return f"{_name(found[1])}<{found[2]}>" if found else value


def _addresses(value: str) -> str:
    return _NAMED.sub(lambda found: f"{_before(found[1])}<{found[2]}>", value)


def _before(text: str) -> str:
    """Addresses without a name, then the name of the address that follows."""
    pieces = text.split(",") if '"' not in text else [text]
    count = 0
    while count < len(pieces) - 1 and (not pieces[count].strip() or _BARE.match(pieces[count])):
        count += 1
    return ",".join([*pieces[:count], _name(",".join(pieces[count:]))])


def _name(text: str) -> str:
    if not text.strip() or _QUOTED.match(text) or not _SPECIAL.search(text):
        return text
    return f' "{_quotable(text.strip())}" '


def _quotable(text: str) -> str:
    return _unbroken(text).replace("\\", "\\\\").replace('"', '\\"')


def _unbroken(text: str) -> str:
    return _BREAKS.sub(" ", text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
