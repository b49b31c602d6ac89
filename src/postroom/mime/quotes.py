"""Quoted history in plain text, folded line by line; what was written between quotes stays.

Every rule looks at single lines (or a few joined), so the work grows with the text and never faster, whatever it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroom.mime.attribution import is_attribution, is_forward, is_header_block, is_separator

_MAX_JOINED = 4  # lines an attribution may be wrapped over
_MARK = "> […]"  # stands where a quote between two answers was


@dataclass(frozen=True, slots=True)
class Folded:
    text: str
    folded: int  # characters left out


def fold_text(text: str, *, fold_marked: bool = True) -> Folded:
    """Fold replies' history. `fold_marked` folds lines behind ``>`` too: off where they may be a page's own design.

    A mail that is nothing but history is left as it is.
    """
    lines = text.split("\n")
    end = _history_start(lines)
    kept = lines[:end]
    if fold_marked:
        kept = _without_marked(kept)
    visible = "\n".join(kept).rstrip()
    if not visible.replace(_MARK, "").strip():
        return Folded(text, 0)
    return Folded(
        visible, max(0, len(text.rstrip()) - len(visible.replace(_MARK, ""))) if len(visible) < len(text) else 0
    )


def _history_start(lines: list[str]) -> int:
    """The line from which all is history; the number of lines where nothing is."""
    for index, line in enumerate(lines):
        if not line or line[0] == ">":
            continue
        if is_forward(line):
            return len(lines)
        if _starts_history(lines, index):
            return index - 1 if index and _is_rule(lines[index - 1]) else index
    return len(lines)


def _starts_history(lines: list[str], index: int) -> bool:
    line = lines[index]
    if is_separator(line):
        return True
    if ":" not in line and "：" not in line:
        return False
    ahead = [other for other in lines[index : index + 9] if other.strip()]
    if is_header_block(ahead):
        return True
    # An attribution over text without marks: some programs quote by nothing else. Marked lines fold by themselves.
    return is_attribution(line) and len(line) > 20 and not any(other[:1] == ">" for other in lines[index + 1 :])


def _is_rule(line: str) -> bool:
    return len(line.strip()) >= 10 and not line.strip(" _-*=")


def _without_marked(lines: list[str]) -> list[str]:
    """Runs of ``>`` lines go, with the attribution above them; a mark shows where text follows."""
    kept: list[str] = []
    index = 0
    while index < len(lines):
        if not _is_marked(lines[index]):
            kept.append(lines[index])
            index += 1
            continue
        while index < len(lines) and (_is_marked(lines[index]) or _is_gap(lines, index)):
            index += 1
        _drop_attribution(kept)
        if any(line.strip() for line in lines[index:]):
            kept.append(_MARK)
    return kept


def _is_marked(line: str) -> bool:
    return line.lstrip(" ")[:1] == ">"


def _is_gap(lines: list[str], index: int) -> bool:
    """A blank line between two marked ones."""
    return not lines[index].strip() and index + 1 < len(lines) and _is_marked(lines[index + 1])


def _drop_attribution(kept: list[str]) -> None:
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    for count in range(1, min(_MAX_JOINED, end) + 1):
        block = kept[end - count : end]
        if not block[0].strip():
            return
        if is_attribution(" ".join(block)):
            del kept[end - count :]
            return
