"""Templates: emails written once and filled in. send_email takes one by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.mailapi import wording
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

toolset = Toolset("templates")

Name = Annotated[str, Field(description="Name of the template")]


@toolset.tool("List templates", read_only=True, idempotent=True)
async def list_templates(gateway: Gateway) -> CallToolResult:
    """List the email templates with the variables they take, for send_email."""
    from postroom.service.templates import templates

    return wording.templates(*await templates.list_templates(gateway))


@toolset.tool("Save template", destructive=True)
async def save_template(
    gateway: Gateway,
    name: Name,
    subject: Annotated[str, Field(description="Email subject line")],
    body: Annotated[str, Field(description="With {{ name }}, and {{ if name }} ... {{ end }}")],
    format: Annotated[Literal["text", "markdown", "html"], Field(description="Of the body")] = "text",  # noqa: A002
    description: Annotated[str, Field(description="What it is for (optional)")] = "",
    variables: Annotated[
        dict[str, Any] | None, Field(description="Names with their defaults; null or unnamed: required (optional)")
    ] = None,
    overwrite: Annotated[bool, Field(description="Replace a template of that name")] = False,
) -> CallToolResult:
    """Save an email template. Nothing is sent."""
    from postroom.service.templates import templates

    said = {"subject": subject, "body": body, "description": description}
    saved = await templates.save_template(gateway, name, **said, fmt=format, variables=variables, overwrite=overwrite)
    return wording.template_saved(saved)


@toolset.tool("Render template", read_only=True, idempotent=True)
async def render_template(
    gateway: Gateway,
    name: Name,
    variables: Annotated[dict[str, Any] | None, Field(description="Values by name (optional)")] = None,
) -> CallToolResult:
    """Fill in a template and show the email it makes. Nothing is saved or sent."""
    from postroom.service.templates import templates

    return wording.rendered(await templates.render_template(gateway, name, variables or {}))
