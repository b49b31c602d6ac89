"""Asking the person through the client, in both protocol eras: mid-call before 2026-07-28, by a retried call since.

A tool that may ask is declared with `asks`, a function of the same arguments that returns the question or None. The
SDK ties an answer to the exact text it was given for, and the tool learns which send that question was about: whatever
the arguments mean by the time the person has decided, the answer is for that send.

A form that comes back without its answer, or an error in its place, counts as not answered.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from mcp.server.mcpserver import AcceptedElicitation, CancelledElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, StrictBool

Verdict = Literal["accepted", "declined", "dismissed"]


class Question(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def send_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The person's answer, and the send it is about."""

    verdict: Verdict
    send_id: str


Ask = Callable[..., Awaitable[Question | None]]
# Of this call, which is one task: the send its question was about, and whether what came back was no answer.
_asked: ContextVar[str] = ContextVar("asked", default="")
_unanswered: ContextVar[bool] = ContextVar("unanswered", default=False)
PARAMETER = "answer"


class Say(BaseModel):
    """The form the person fills in."""

    send: StrictBool = Field(description="Send exactly this message?")


class _NotAsked:
    """Takes the place of the answer when there was nothing to ask."""


class _NotAnswered:
    """Stands for the answer where the client brought none."""


class AskingTool(Tool):
    """The SDK fails a call over an answer it cannot read; here such a call goes on without one."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        _asked.set("")
        _unanswered.set(False)
        try:
            return await super().run(arguments, context, convert_result)
        except (ToolError, MCPError):
            if not _asked.get():  # nothing was asked, or it was answered and the tool itself failed
                raise
        _unanswered.set(True)
        return await super().run(arguments, context, convert_result)


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether this client shows forms to its user. Declared capabilities decide, never a client's name."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def answer(outcome: Any) -> Answer | None:
    """None where nobody was asked. An unticked form is a no; a closed one is neither an answer nor a yes."""
    send_id = _asked.get()
    _asked.set("")  # what goes wrong from here on is not the answer's fault
    said = outcome.data if isinstance(outcome, AcceptedElicitation) else outcome
    if isinstance(said, _NotAsked):
        return None
    if isinstance(said, (CancelledElicitation, _NotAnswered)):
        return Answer("dismissed", send_id)
    return Answer("accepted" if isinstance(said, Say) and said.send else "declined", send_id)


def parameter(name: str, ask: Ask, shown: list[inspect.Parameter]) -> inspect.Parameter:
    """The hidden parameter through which the SDK passes the person's answer to a tool."""

    async def question(ctx: Context[Any, Any], **arguments: Any) -> Any:
        if _unanswered.get():
            return _NotAnswered()
        asked = await ask(ctx.request_context.lifespan_context, ctx, **arguments)
        if asked is None:
            return _NotAsked()
        _asked.set(asked.send_id)
        return Elicit(asked.text, Say)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    question.__qualname__ = f"{name}.question"  # the key under which the answer is sent
    question.__signature__ = inspect.Signature([*shown, context])  # type: ignore[attr-defined]
    question.__annotations__ = {**{one.name: one.annotation for one in shown}, "ctx": Context}
    annotation = Annotated[ElicitationResult[Say], Resolve(question)]
    return inspect.Parameter(PARAMETER, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
