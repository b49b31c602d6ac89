"""Everything that can go wrong in a call, reported in one form: code, message, details, retry_after. No traceback."""

from __future__ import annotations

import difflib
import re
import secrets
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, Prompt, TextContent
from pydantic import ValidationError

from postroom.doors.mcp.log import log
from postroom.model.errors import InternalError, InvalidRequest, NotFound, PostroomError

MAX_ARGUMENT_CHARS = 2_000_000  # of all texts of one call; a message body is far below, a runaway model is not
_SHOWN = 5  # problems of one argument
_ADVICE = re.compile(r"\s*\bCall ([a-z]+(?:_[a-z]+)+|undo)\b[^.]*\.")


def failure(error: PostroomError, _tool: str = "") -> CallToolResult:
    """The result a model reads when a call failed. A dialect may word it differently, or use a JSON-RPC error."""
    wait = f" (retry after {error.retry_after:g} s)" if error.retry_after is not None else ""
    return CallToolResult(
        is_error=True,
        content=[TextContent(type="text", text=f"{error.code}: {error.message}{wait}")],
        structured_content={"error": error_dict(error)},
    )


def error_dict(error: PostroomError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "details": error.details,
        "retry_after": error.retry_after,
    }


def as_postroom_error(error: BaseException, tool: str) -> PostroomError:
    """The error a model gets for an exception. One that is not ours becomes a reference to look up in the log."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, PostroomError):
            return cause
        if isinstance(cause, ValidationError):
            return _invalid_arguments(cause, tool)
        cause = cause.__cause__
    return _internal(error, tool)


def advise_within(error: PostroomError, registered: Container[str]) -> PostroomError:
    """Errors advise in the default dialect's terms: advice to call a tool that is absent here is left out."""
    error.message = advice_within(error.message, registered) or error.message
    return error


def advice_within(text: str, registered: Container[str] = ()) -> str:
    return _ADVICE.sub(lambda advice: advice[0] if advice[1] in registered else "", text).strip()


def refuse_unknown_tool(name: str, registered: Iterable[str], known: Mapping[str, str]) -> NotFound:
    """`known` maps every tool of the dialect to its toolset, registered or not."""
    if name in known:
        return NotFound(
            f"The tool {name} (toolset {known[name]}) is not enabled on this server. "
            "The operator can enable it; continue without it for now.",
            reason="tool_not_enabled",
            details={"tool": name, "toolset": known[name]},
        )
    return NotFound(
        f"There is no tool {name[:60]}.{did_you_mean(name, registered)}",
        reason="unknown_tool",
        details={"tool": name[:60]},
    )


def refuse_unknown_arguments(tool: str, given: Mapping[str, Any], accepted: Iterable[str]) -> None:
    """A misspelt `bbc` is an error, never a message without its bcc."""
    accepted = list(accepted)
    unknown = [name for name in given if name not in accepted]
    if not unknown:
        return
    said = " ".join(
        f"Unknown argument {name[:60]} of {tool}{did_you_mean(name, accepted, lead='; did you mean') or '.'}"
        for name in unknown[:5]
    )
    takes = ", ".join(accepted) or "no arguments"
    raise InvalidRequest(
        f"{said} {tool} takes: {takes}.",
        reason="unknown_argument",
        details={"unknown": [name[:60] for name in unknown[:5]]},
    )


def refuse_unfit_prompt(name: str, given: Mapping[str, str], offered: Iterable[Prompt]) -> None:
    """Some clients send an empty text for what a person left out."""
    known = {prompt.name: prompt.arguments or [] for prompt in offered}
    if name not in known:
        choice = f"Use one of: {', '.join(known)}." if known else "This server has none."
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}. {choice}")
    missing = [argument.name for argument in known[name] if argument.required and not given.get(argument.name)]
    if missing:
        raise MCPError(INVALID_PARAMS, f"Prompt {name} needs {' and '.join(missing)}.")
    try:
        refuse_unknown_arguments(f"prompt {name}", given, [argument.name for argument in known[name]])
    except InvalidRequest as problem:
        raise MCPError(INVALID_PARAMS, problem.message) from None


def refuse_unfit_text(tool: str, arguments: Mapping[str, Any]) -> None:
    """NUL, lone surrogates and overlong texts are refused before anything else is checked."""
    total = 0
    for name, value in arguments.items():
        listed = value if isinstance(value, list) else [value]
        total += sum(len(text) for text in listed if isinstance(text, str))  # a file within a call has its own limit
        for text in _texts(listed):
            if "\0" in text or not _encodable(text):
                raise InvalidRequest(
                    f"The argument {name} of {tool} contains a NUL or broken Unicode. Remove it and try again.",
                    reason="invalid_argument",
                    details={"field": name},
                )
    if total > MAX_ARGUMENT_CHARS:
        raise InvalidRequest(
            f"The arguments of {tool} are {total} characters long; at most {MAX_ARGUMENT_CHARS} are allowed. "
            "Attach long content as a file instead.",
            reason="invalid_argument",
            details={"limit": MAX_ARGUMENT_CHARS},
        )


def refuse_truth_for_number(tool: str, arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
    """Pydantic takes `true` for 1, which may be the number of somebody's draft."""
    for name, value in arguments.items():
        if isinstance(value, bool) and properties[name].get("type") in ("integer", "number"):
            raise InvalidRequest(
                f"Invalid arguments for {tool}: {name}: Input should be a number. Correct them and call again.",
                reason="invalid_argument",
                details={"field": name},
            )


def _texts(value: Any) -> Iterator[str]:
    """However deeply nested."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value if isinstance(value, list) else [*value, *value.values()]:
            yield from _texts(inner)


def did_you_mean(name: str, candidates: Iterable[str], *, lead: str = " Did you mean") -> str:
    near = difflib.get_close_matches(name[:60], list(candidates), n=1, cutoff=0.5)
    return f"{lead} {near[0]}?" if near else ""


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid_arguments(error: ValidationError, tool: str) -> InvalidRequest:
    """Pydantic's messages without the values, which may be message content; the arms of a union are alternatives."""
    found: dict[str, dict[tuple[str, bool], str]] = {}  # argument -> problem, and whether an item's -> where first
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        place = problem["loc"]
        name, said = str(place[0]) if place else "arguments", problem["msg"]
        if problem["type"] == "extra_forbidden":
            said = f"Unknown name {str(place[-1])[:60]}"
        item = next((step for step in place[1:] if isinstance(step, int)), None)
        where = "" if item is None else f"item {item + 1}: "
        found.setdefault(name, {}).setdefault((said, item is not None), where + said)
    listed = "; ".join(f"{name}: {_alternatives([*problems.values()])}" for name, problems in found.items())
    return InvalidRequest(
        f"Invalid arguments for {tool}: {listed}. Correct them and call again.",
        reason="invalid_argument",
        details={name: _alternatives([*dict.fromkeys(said for said, _ in one)]) for name, one in found.items()},
    )


def _alternatives(problems: list[str]) -> str:
    """Of one argument. A mistake that many items share is among them once."""
    more = [f"{len(problems) - _SHOWN} more problems"] if len(problems) > _SHOWN else []
    return ", or: ".join([*problems[:_SHOWN], *more])


def _internal(error: BaseException, tool: str) -> InternalError:
    origin = error
    while origin.__cause__ is not None:
        origin = origin.__cause__
    number = secrets.token_hex(6)
    log.error("internal_error", extra={"tool": tool, "correlation_id": number, "error_type": type(origin).__name__})
    return InternalError(
        f"Something went wrong inside Postroom (reference {number}). It is unknown whether anything was changed; "
        "check the state before trying again, and tell the operator the reference.",
        details={"correlation_id": number},
    )
