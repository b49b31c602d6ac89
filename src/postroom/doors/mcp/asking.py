"""Asking the person through the client, in both protocol eras: mid-call before 2026-07-28, by a retried call since.

A tool that may ask is declared with `asks`, a function of the same arguments that answers the question's text or None.
The SDK ties an answer to the exact text it was given for, so a question names all that the answer stands for.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

Verdict = Literal["accepted", "declined"]
Ask = Callable[..., Awaitable[str | None]]
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


def verdict(outcome: Any) -> Verdict | None:
    """None where nobody was asked. A form dismissed or left unticked is a no."""
    if not isinstance(outcome, AcceptedElicitation):
        return "declined"
    if isinstance(outcome.data, Say):
        return "accepted" if outcome.data.send else "declined"
    return None


def parameter(name: str, ask: Ask, shown: list[inspect.Parameter]) -> inspect.Parameter:
    """The hidden parameter through which the SDK hands a tool the person's answer."""

    async def question(ctx: Context[Any, Any], **arguments: Any) -> Any:
        text = await ask(ctx.request_context.lifespan_context, ctx, **arguments)
        return _NotAsked() if text is None else Elicit(text, Say)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    question.__qualname__ = f"{name}.question"  # the key under which the answer travels
    question.__signature__ = inspect.Signature([*shown, context])  # type: ignore[attr-defined]
    question.__annotations__ = {**{one.name: one.annotation for one in shown}, "ctx": Context}
    annotation = Annotated[ElicitationResult[Say], Resolve(question)]
    return inspect.Parameter(PARAMETER, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
