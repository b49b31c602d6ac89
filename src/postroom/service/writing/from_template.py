"""A request whose words come from a template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from postroom.model.errors import InvalidRequest
from postroom.service.gateway import Gateway
from postroom.service.templates.templates import render_template
from postroom.service.writing.composing import DraftRequest


async def filled(
    gateway: Gateway, request: DraftRequest, template: str, variables: Mapping[str, Any] | None
) -> DraftRequest:
    """The body is the template's; so is the subject, unless the caller names one. Without a template the request stays
    as it is."""
    if not template:
        _refuse(bool(variables), "variables", "variables belong to a template. Name it in `template`.")
        return request
    _refuse(bool(request.body or request.body_html), "body", "Give a body or a template, not both.")
    rendered = await render_template(gateway, template, variables or {})
    return replace(request, subject=request.subject or rendered.subject, body=rendered.text, body_html=rendered.html)


def require(template: str, **fields: str | None) -> None:
    """What must be given where no template gives it."""
    for field, value in fields.items():
        _refuse(value is None and not template, field, f"{field} is missing. Give it, or a template.")


def _refuse(is_wrong: bool, field: str, message: str) -> None:
    if is_wrong:
        raise InvalidRequest(message, details={"field": field})
