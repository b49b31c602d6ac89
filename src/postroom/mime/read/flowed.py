"""format=flowed (RFC 3676): soft line breaks removed, so that a paragraph is one line again."""

from __future__ import annotations

from postroom.mime.limits import MAX_LINES


def unflow(text: str, *, delete_space: bool = False) -> str:
    """A line that ends in a space continues in the next one if both have the same quote depth. Lines beyond the limit
    stay as they are."""
    *examined, rest = text.replace("\r\n", "\n").split("\n", MAX_LINES)
    if len(examined) < MAX_LINES:
        return _joined([*examined, rest], delete_space=delete_space)
    return f"{_joined(examined, delete_space=delete_space)}\n{rest}"


def _joined(examined: list[str], *, delete_space: bool) -> str:
    lines: list[list[str]] = []  # each as its pieces: appending to a growing text would be quadratic
    open_depth = -1  # quote depth of the paragraph that is still open; -1: none
    for line in examined:
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")  # space-stuffing
        soft = content.endswith(" ") and content != "-- "
        kept = content[:-1] if soft and delete_space else content
        if open_depth == depth and content != "-- ":
            lines[-1].append(kept)
        else:
            lines.append([f"{'>' * depth} {kept}" if depth else kept])
        open_depth = depth if soft else -1
    return "\n".join(["".join(pieces) for pieces in lines])
