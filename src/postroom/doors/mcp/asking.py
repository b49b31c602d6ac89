"""Asking the person through the client, in both protocol eras: mid-call before 2026-07-28, by a retried call since.

A tool that may ask is declared with `asks`, a function of the same arguments that returns the question or None. The
SDK ties an answer to the exact text it was given for, and the tool learns which send that question was about: whatever
the arguments mean by the time the person has decided, the answer is for that send.
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
    """The person's answer, and the send it is about."""

    verdict: Verdict
    send_id: str


Ask = Callable[..., Awaitable[Question | None]]
_asked: ContextVar[str] = ContextVar("asked")  # the send this call's question was about; a call is one task
PARAMETER = "answer"


class Say(BaseModel):
    """The form the person fills in."""

    send: bool = Field(description="Send exactly this message?")


class _NotAsked:
    """Takes the place of the answer when there was nothing to ask."""


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether this client shows forms to its user. Declared capabilities decide, never a client's name."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def answer(outcome: Any) -> Answer | None:
    """None where nobody was asked. An unticked form is a no; a closed one is neither an answer nor a yes."""
    if isinstance(outcome, CancelledElicitation):
        return Answer("dismissed", _asked.get())
    accepted = isinstance(outcome, AcceptedElicitation)
    if accepted and not isinstance(outcome.data, Say):
        return None
    return Answer("accepted" if accepted and outcome.data.send else "declined", _asked.get())


def parameter(name: str, ask: Ask, shown: list[inspect.Parameter]) -> inspect.Parameter:
    """The hidden parameter through which the SDK passes the person's answer to a tool."""

    async def question(ctx: Context[Any, Any], **arguments: Any) -> Any:
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
