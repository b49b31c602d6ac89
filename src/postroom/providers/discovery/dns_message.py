"""DNS messages (RFC 1035): one question out, the records of one kind back. Nothing here trusts what it reads."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

_HEADER = struct.Struct("!6H")
_RECORD = struct.Struct("!HHIH")
_RECURSION_WANTED, _IS_ANSWER, _TRUNCATED, _FAILURE = 0x0100, 0x8000, 0x0200, 0x000F
_INTERNET = 1
_MOST_RECORDS, _MOST_JUMPS, _LONGEST_NAME = 64, 16, 255


class Kind(IntEnum):
    MX = 15
    SRV = 33


@dataclass(frozen=True, slots=True)
class Record:
    """`weight` and `port` are those of SRV; an MX has neither. A target of ``""`` means: not offered here."""

    priority: int
    target: str
    weight: int = 0
    port: int = 0


class Malformed(ValueError):
    """No answer to our question, or none that can be read."""


class Truncated(Exception):
    """The answer did not fit into a datagram; over TCP it will."""


def question(number: int, name: str, kind: Kind) -> bytes:
    labels = name.rstrip(".").encode("ascii").split(b".")
    if not all(0 < len(label) < 64 for label in labels) or len(name) > _LONGEST_NAME - 2:
        raise Malformed
    header = _HEADER.pack(number, _RECURSION_WANTED, 1, 0, 0, 0)
    asked = b"".join(bytes([len(label)]) + label for label in labels)
    return header + asked + b"\0" + struct.pack("!HH", kind, _INTERNET)


def read_answer(message: bytes, number: int, name: str, kind: Kind) -> list[Record]:
    """Best first. Raises Malformed for anything that is no answer to exactly this question."""
    try:
        return _read(message, number, name.rstrip("."), kind)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise Malformed from error


def _read(message: bytes, number: int, name: str, kind: Kind) -> list[Record]:
    said, flags, questions, answers, _, _ = _HEADER.unpack_from(message)
    asked, at = _name(message, _HEADER.size)
    same = asked.lower() == name.lower() and struct.unpack_from("!HH", message, at) == (kind, _INTERNET)
    if said != number or not flags & _IS_ANSWER or questions != 1 or not same:
        raise Malformed
    if flags & _TRUNCATED:
        raise Truncated
    if flags & _FAILURE:  # no such name, most of the time
        return []
    at += 4
    records: list[Record] = []
    for _ in range(min(answers, _MOST_RECORDS)):
        _, at = _name(message, at)
        its_kind, its_class, _, length = _RECORD.unpack_from(message, at)
        at += _RECORD.size
        if (its_kind, its_class) == (kind, _INTERNET):
            records.append(_record(message, at, kind))
        at += length
    return sorted(records, key=lambda record: (record.priority, -record.weight))


def _record(message: bytes, at: int, kind: Kind) -> Record:
    if kind is Kind.MX:
        (priority,) = struct.unpack_from("!H", message, at)
        return Record(priority, _name(message, at + 2)[0].lower())
    priority, weight, port = struct.unpack_from("!3H", message, at)
    return Record(priority, _name(message, at + 6)[0].lower(), weight, port)


def _name(message: bytes, at: int) -> tuple[str, int]:
    """The name that begins there, and where it ends; names may point back to earlier ones."""
    labels: list[str] = []
    end = 0
    for _ in range(_LONGEST_NAME + _MOST_JUMPS):
        length = message[at]
        if length >= 0xC0:
            end = end or at + 2
            at = (length & 0x3F) << 8 | message[at + 1]
        elif length > 63:
            raise Malformed
        elif length == 0:
            return ".".join(labels), end or at + 1
        else:
            labels.append(message[at + 1 : at + 1 + length].decode("ascii"))
            at += 1 + length
        if sum(map(len, labels)) > _LONGEST_NAME:
            raise Malformed
    raise Malformed
