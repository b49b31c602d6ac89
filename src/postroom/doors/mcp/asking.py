"""Asking the person through the client, in both protocol eras: mid-call before 2026-07-28, by a retried call since.

A tool that may ask is declared with `asks`, a function of the same arguments that answers the question or None. The
SDK ties an answer to the exact text it was given for, and the tool is told which send that question was about: whatever
the arguments have come to mean while the person was thinking, the answer is for that send.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from mcp.server.mcpserver import AcceptedElicitation, CancelledElicitation, Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

Verdict = Literal["accepted", "declined", "dismissed"]


class Question(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def send_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person said, and about which send."""

    verdict: Verdict
    send_id: str


Ask = Callable[..., Awaitable[Question | None]]
_asked: ContextVar[str] = ContextVar("asked")  # the send this call's question was about; a call is one task
PARAMETER = "answer"


class Say(BaseModel):
    """The form the person fills in."""

    send: bool = Field(description="Send exactly this mail?")


class _NotAsked:
    """Stands for the answer where there was nothing to ask."""


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether this client shows forms to its user. Declared capabilities decide, never a client's name."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def answer(outcome: Any) -> Answer | None:
    """None where nobody was asked. A form left unticked is a no; one that was closed is no answer, and no yes."""
    if isinstance(outcome, CancelledElicitation):
        return Answer("dismissed", _asked.get())
    accepted = isinstance(outcome, AcceptedElicitation)
    if accepted and not isinstance(outcome.data, Say):
        return None
    return Answer("accepted" if accepted and outcome.data.send else "declined", _asked.get())


def parameter(name: str, ask: Ask, shown: list[inspect.Parameter]) -> inspect.Parameter:
    """The hidden parameter through which the SDK hands a tool the person's answer."""

    async def question(ctx: Context[Any, Any], **arguments: Any) -> Any:
        asked = await ask(ctx.request_context.lifespan_context, ctx, **arguments)
        if asked is None:
            return _NotAsked()
        _asked.set(asked.send_id)
        return Elicit(asked.text, Say)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    question.__qualname__ = f"{name}.question"  # the key under which the answer travels
    question.__signature__ = inspect.Signature([*shown, context])  # type: ignore[attr-defined]
    question.__annotations__ = {**{one.name: one.annotation for one in shown}, "ctx": Context}
    annotation = Annotated[ElicitationResult[Say], Resolve(question)]
    return inspect.Parameter(PARAMETER, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
