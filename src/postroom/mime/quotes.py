"""Quoted history in plain text, folded line by line; what was written between quotes stays.

Every rule looks at single lines (or a few joined), so the work grows with the text and never faster, whatever it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroom.mime.attribution import is_attribution, is_forward, is_header_block, is_separator

_MAX_JOINED = 4  # lines an attribution may be wrapped over
_MAX_LINES = 20_000  # looked at for a header block; no person's mail has as many
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
    kept = lines[: _history_start(lines, by_attribution=fold_marked)]
    if fold_marked and ">" in text:
        kept = _without_marked(kept)
    if len(kept) == len(lines) or not any(line.strip() and line is not _MARK for line in kept):
        return Folded(text, 0)
    folded = sum(map(len, lines)) - sum(len(line) for line in kept if line is not _MARK)
    return Folded("\n".join(kept).rstrip(), folded)


def _history_start(lines: list[str], *, by_attribution: bool) -> int:
    """The line from which all is history; the number of lines where nothing is."""
    # An attribution over text without marks: some programs quote by nothing else. Marked lines fold by themselves.
    attributed = _last_marked(lines) + 1 if by_attribution else len(lines)
    for index, line in enumerate(lines[:_MAX_LINES]):
        if not _may_open(line):
            continue
        if _opens_history(lines, index) or (index >= attributed and is_attribution(line, strict=True)):
            is_sent_on = any(is_forward(above) for above in lines[: index + 1] if above and above[0] != ">")
            return len(lines) if is_sent_on else _above_rule(lines, index)
    return len(lines)


def _last_marked(lines: list[str]) -> int:
    """-1 where no line is."""
    return next((index for index in range(len(lines) - 1, -1, -1) if _is_marked(lines[index])), -1)


def _may_open(line: str) -> bool:
    """Whether a line is worth a closer look: most have none of this."""
    return (":" in line or "--" in line or "：" in line) and line[0] != ">"


def _opens_history(lines: list[str], index: int) -> bool:
    line = lines[index]
    if is_separator(line):
        return True
    if ":" not in line[:60] and "：" not in line[:60]:
        return False
    return is_header_block([other for other in lines[index : index + 12] if other.strip()])


def _above_rule(lines: list[str], index: int) -> int:
    """The line that a program drew above its header block belongs to it."""
    above = index
    while above and not lines[above - 1].strip():
        above -= 1
    return above - 1 if above and _is_rule(lines[above - 1]) else index


def _is_rule(line: str) -> bool:
    return len(line.strip()) >= 10 and not line.strip(" _-*=")


def _without_marked(lines: list[str]) -> list[str]:
    """Runs of ``>`` lines go, with the attribution above them; a mark shows where text follows."""
    kept: list[str] = []
    last_words = max((index for index, line in enumerate(lines) if line.strip()), default=-1)
    index = 0
    while index < len(lines):
        if not _is_marked(lines[index]):
            kept.append(lines[index])
            index += 1
            continue
        while index < len(lines) and (_is_marked(lines[index]) or _is_gap(lines, index)):
            index += 1
        _drop_attribution(kept)
        if index <= last_words:
            kept.append(_MARK)
    return kept


def _is_marked(line: str) -> bool:
    return ">" in line and line.lstrip(" ")[0] == ">"


def _is_gap(lines: list[str], index: int) -> bool:
    """A blank line between two marked ones."""
    return not lines[index].strip() and index + 1 < len(lines) and _is_marked(lines[index + 1])


def _drop_attribution(kept: list[str]) -> None:
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    if not end or not kept[end - 1].rstrip().endswith((":", "：")):
        return
    blocks = [kept[end - count : end] for count in range(1, min(_MAX_JOINED, end) + 1)]
    # Its last line alone often looks like one too, so the whole one, with its opening, is looked for first.
    for strict in (True, False):
        for block in blocks:
            if block[0].strip() and is_attribution(" ".join(block), strict=strict):
                del kept[end - len(block) :]
                return
