"""How a tool is declared: a module-level function that takes the Gateway first, in a named toolset.

    toolset = Toolset("read")

    @toolset.tool("List folders", returns=shapes.Folders, read_only=True, idempotent=True)
    async def list_folders(gateway: Gateway, account: AccountName = "") -> CallToolResult:
        '''One sentence for the tool table. Then what a model needs to know.'''

Binding removes `gateway` from the visible signature and fills it from the server's lifespan. A tool that reports
progress or asks the person also takes ``ctx: Context``.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.doors.mcp import asking
from postroom.doors.mcp.faithful_text import keep_text
from postroom.doors.mcp.schema import output_schema, slim_input
from postroom.doors.mcp.sdk_internals import declare_output

ToolFunction = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as declared, before it is bound to a server."""

    name: str
    title: str
    toolset: str
    function: ToolFunction
    returns: Any
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    asks: asking.Ask | None = None

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")


@dataclass(frozen=True)
class Toolset:
    """A group of tools that is switched on or off together."""

    name: str
    specs: list[ToolSpec] = field(default_factory=list)

    def tool(
        self,
        title: str,
        *,
        returns: Any = None,
        name: str = "",
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        open_world: bool = False,
        asks: asking.Ask | None = None,
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Declare the function below. `returns` is the TypedDict of its structured result.

        destructive: may remove or overwrite data. open_world: reaches people beyond the mailbox.
        asks: returns the question to put to the person first; the function then takes ``ctx`` and ``answer``.
        """

        def declare(function: ToolFunction) -> ToolFunction:
            spec = ToolSpec(
                name=name or function.__name__,
                title=title,
                toolset=self.name,
                function=function,
                returns=returns,
                read_only=read_only,
                destructive=destructive,
                idempotent=idempotent,
                open_world=open_world,
                asks=asks,
            )
            self.specs.append(spec)
            return function

        return declare


def choose(toolsets: Iterable[Toolset], enabled: Iterable[str], *, read_only: bool) -> list[ToolSpec]:
    """The tools to register. A tool that is not registered can be neither seen nor called."""
    wanted = set(enabled)
    return [
        spec
        for toolset in toolsets
        if toolset.name in wanted
        for spec in toolset.specs
        if spec.read_only or not read_only
    ]


def bind(spec: ToolSpec) -> Tool:
    """Make the SDK's tool: slim schemas, and `gateway` filled in from the lifespan of the request."""
    kind = Tool if spec.asks is None else asking.AskingTool
    tool = kind.from_function(
        _without_gateway(spec),
        name=spec.name,
        title=spec.title,
        description=spec.description,
        annotations=ToolAnnotations(
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=spec.open_world,
        ),
        structured_output=False,
    )
    keep_text(tool)
    tool.parameters = slim_input(tool.parameters)
    if spec.returns is not None:
        declare_output(tool, output_schema(spec.returns))
    return tool


def _shown_as(hint: Any, name: str | None) -> Any:
    """A parameter whose name Python reserves is declared with an underscore (`from_`) and shown without it."""
    return Annotated[hint, Field(alias=name)] if name else hint


def _without_gateway(spec: ToolSpec) -> ToolFunction:
    hints = get_type_hints(spec.function, include_extras=True)
    named_otherwise = {name: name.removesuffix("_") for name in hints if name.endswith("_")}
    parameters = [
        parameter.replace(annotation=_shown_as(hints[parameter.name], named_otherwise.get(parameter.name)))
        for parameter in inspect.signature(spec.function).parameters.values()
        if parameter.name not in ("gateway", "ctx")
    ]
    takes_context = "ctx" in hints or spec.asks is not None

    async def call(ctx: Context[Any, Any], **arguments: Any) -> Any:
        for name, shown_name in named_otherwise.items():
            arguments[name] = arguments.pop(shown_name)
        if takes_context:
            arguments["ctx"] = ctx
        if spec.asks is not None:
            arguments[asking.PARAMETER] = asking.answer(arguments[asking.PARAMETER])
        return await spec.function(ctx.request_context.lifespan_context, **arguments)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    if spec.asks is not None:
        shown.append(asking.parameter(spec.name, spec.asks, list(shown)))
    call.__name__ = spec.name
    call.__signature__ = inspect.Signature([*shown, context])  # type: ignore[attr-defined]
    call.__annotations__ = {**{parameter.name: parameter.annotation for parameter in shown}, "ctx": Context}
    return call
