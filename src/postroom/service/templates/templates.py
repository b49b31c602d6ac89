"""List, show, save and render templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.model.errors import InvalidRequest, PermissionDenied
from postroom.service.gateway import Gateway
from postroom.service.templates import library, rendering
from postroom.service.templates.engine import is_name
from postroom.service.templates.front_matter import MAX_DESCRIPTION
from postroom.service.templates.library import Broken
from postroom.service.templates.rendering import Rendered
from postroom.service.templates.template import FORMATS, Format, Template, Variable, make


async def list_templates(gateway: Gateway) -> tuple[list[Template], list[Broken]]:
    return await gateway.in_thread(library.load_all, gateway.settings.templates.dir)


async def show_template(gateway: Gateway, name: str) -> Template:
    return await gateway.in_thread(library.load, gateway.settings.templates.dir, name)


async def render_template(gateway: Gateway, name: str, variables: Mapping[str, Any]) -> Rendered:
    template = await show_template(gateway, name)
    return await gateway.in_thread(rendering.fill, template, variables)


async def save_template(
    gateway: Gateway,
    name: str,
    *,
    subject: str,
    body: str,
    fmt: Format = "markdown",
    description: str = "",
    variables: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Template:
    """`variables` are names with their defaults; None means required."""
    if gateway.settings.server.read_only:
        raise PermissionDenied("This server is read-only: templates cannot be saved.", reason="read_only")
    if fmt not in FORMATS:
        raise InvalidRequest(f"format must be one of {', '.join(FORMATS)}.", details={"field": "format"})
    declared = tuple(_declared(each, default) for each, default in (variables or {}).items())
    template = make(
        library.checked_name(name),
        fmt,
        subject=subject,
        body=body.replace("\r\n", "\n"),
        description=description.strip()[:MAX_DESCRIPTION],
        declared=declared,
    )
    await gateway.in_thread(library.save, gateway.settings.templates.dir, template, overwrite=overwrite)
    return template


def _declared(name: str, default: Any) -> Variable:
    if not is_name(name):
        raise InvalidRequest(
            f"{name[:60]} cannot name a variable: use letters, digits and _, at most 64, not if or end.",
            reason="invalid_template",
            details={"field": "variables"},
        )
    if default is not None and not isinstance(default, (str, int, float)):
        raise InvalidRequest(f"The default of {name} must be text or a number.", details={"field": "variables"})
    return Variable(name) if default is None else Variable(name, required=False, default=str(default))
