"""Toolset `templates`: messages written once and filled in. create_draft and send_email take a template by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from postroom.doors.mcp.dialects.postroom import shapes
from postroom.doors.mcp.dialects.postroom.arguments import Variables
from postroom.doors.mcp.dialects.postroom.results import answer, plain
from postroom.doors.mcp.toolbox import Toolset
from postroom.service.gateway import Gateway

if TYPE_CHECKING:
    from postroom.service.templates.template import Template

toolset = Toolset("templates")

Name = Annotated[str, Field(description="Template name")]
Defaults = Annotated[
    dict[str, Any] | None, Field(description="Default by name; null: required. Undeclared ones are required")
]


@toolset.tool("List templates", returns=shapes.Templates, read_only=True, idempotent=True)
async def list_templates(gateway: Gateway) -> CallToolResult:
    """List the message templates with their variables, for create_draft and send_email."""
    from postroom.service.templates import templates

    found, broken = await templates.list_templates(gateway)
    problems = [each.problem for each in broken]
    lines = [*map(_line, found), *(f"Not usable: {problem}" for problem in problems)]
    return answer(
        {"templates": [_shape(one) for one in found], "problems": problems}, "\n".join(lines) or "No templates."
    )


@toolset.tool("Save template", returns=shapes.Template, destructive=True)
async def save_template(
    gateway: Gateway,
    name: Name,
    body: Annotated[str, Field(description="With {{ name }}, and {{ if name }} ... {{ end }}")],
    subject: str = "",
    format: Literal["markdown", "text", "html"] = "markdown",  # noqa: A002 (what the model reads)
    description: str = "",
    variables: Defaults = None,
    overwrite: bool = False,
) -> CallToolResult:
    """Save a message template. It is not sent."""
    from postroom.service.templates import templates

    said = {"subject": subject, "body": body, "description": description}
    saved = await templates.save_template(gateway, name, **said, fmt=format, variables=variables, overwrite=overwrite)
    return answer(_shape(saved), f"Saved template {_line(saved)}")


@toolset.tool("Render template", returns=shapes.RenderedTemplate, read_only=True, idempotent=True)
async def render_template(gateway: Gateway, name: Name, variables: Variables = None) -> CallToolResult:
    """Fill in a template and show the result. Nothing is saved or sent."""
    from postroom.service.templates import templates

    rendered = await templates.render_template(gateway, name, variables or {})
    return answer(plain(rendered), f"Subject: {rendered.subject}\n\n{rendered.text or rendered.html}")


def _shape(template: Template) -> shapes.Template:
    return {
        "name": template.name,
        "format": template.format,
        "subject": template.subject,
        "description": template.description,
        "variables": [plain(variable) for variable in template.variables],
    }


def _line(template: Template) -> str:
    required = [variable.name for variable in template.variables if variable.required]
    optional = [f"{variable.name}={variable.default!r}" for variable in template.variables if not variable.required]
    about = f": {template.description}" if template.description else ""
    return f"{template.name} ({template.format}){about} | {template.subject} | {', '.join([*required, *optional])}"
