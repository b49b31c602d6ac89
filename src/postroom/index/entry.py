"""What is indexed: a mail's line in a list, its visible words and its attachments' names."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.model.message import Envelope


@dataclass(frozen=True, slots=True)
class Entry:
    """`envelope.folder` names a folder of this index. An empty `envelope.thread_ref` means: find its thread."""

    envelope: Envelope
    body: str = ""
    filenames: tuple[str, ...] = ()
