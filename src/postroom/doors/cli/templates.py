"""postroom templates: list message templates, show one, and render it with values."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway
from postroom.model.errors import InvalidRequest

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.service.templates.template import Variable


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("templates", help="list message templates, and render them")
    add_config(parser)
    parser.set_defaults(run=run, verb="list")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: list")
    listing = verbs.add_parser("list", help="every template, and files that cannot be used")
    showing = verbs.add_parser("show", help="one template with its variables")
    rendering = verbs.add_parser("render", help="one template, filled in")
    for name, verb in (("list", listing), ("show", showing), ("render", rendering)):
        add_verb_config(verb)
        if name != "list":
            verb.add_argument("template")
        verb.set_defaults(run=run, verb=name)
    rendering.add_argument("values", nargs="*", metavar="NAME=VALUE", help="values of its variables")
    rendering.add_argument("--html", action="store_true", help="the HTML version")


def run(args: argparse.Namespace) -> int:
    work = {"list": _list, "show": _show, "render": _render}[args.verb]
    print("\n".join(in_gateway(args, lambda gateway: work(gateway, args))))
    return 0


async def _list(gateway: Gateway, _: argparse.Namespace) -> list[str]:
    from postroom.doors.cli import table
    from postroom.service.templates.templates import list_templates

    found, broken = await list_templates(gateway)
    for each in broken:
        print(f"postroom: {each.problem}", file=sys.stderr)
    rows = [(one.name, one.format, one.subject, one.description) for one in found]
    where = f"{len(rows)} in {gateway.settings.templates.dir}"
    return [*table.lines(("NAME", "FORMAT", "SUBJECT", "DESCRIPTION"), rows, kept_whole=2), where]


async def _show(gateway: Gateway, args: argparse.Namespace) -> list[str]:
    from postroom.service.templates.templates import show_template

    template = await show_template(gateway, args.template)
    head = [f"{template.name} ({template.format})", template.description, f"Subject: {template.subject}"]
    return [*filter(None, head), *map(_variable, template.variables), "", template.body]


def _variable(variable: Variable) -> str:
    said = "required" if variable.required else f"default {variable.default!r}"
    return f"{variable.name}: {said}{f', {variable.description}' if variable.description else ''}"


async def _render(gateway: Gateway, args: argparse.Namespace) -> list[str]:
    from postroom.service.templates.templates import render_template

    pairs = [value.partition("=") for value in args.values]
    if any(not equals for _, equals, _ in pairs):
        raise InvalidRequest("Write values as name=value.")
    rendered = await render_template(gateway, args.template, {name: value for name, _, value in pairs})
    body = rendered.html if args.html else rendered.text or rendered.html
    return [f"Subject: {rendered.subject}", "", body.rstrip("\n")]
