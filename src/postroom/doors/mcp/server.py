"""The MCP server: the chosen tools, one error form for every call, one log line for every call."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Resource,
    TextContent,
)

from postroom import __version__, tracing
from postroom.doors.mcp import client_log, dialects, failures, fill_progress, subscriptions
from postroom.doors.mcp.asking import AskingTool
from postroom.doors.mcp.call_fields import fields_of
from postroom.doors.mcp.live import Live, OpenGateway
from postroom.doors.mcp.log import log
from postroom.doors.mcp.metrics import Metrics
from postroom.doors.mcp.plain_calls import PlainCalls
from postroom.doors.mcp.sdk_internals import lowlevel_server, without_own_spans
from postroom.doors.mcp.toolbox import Toolset, ToolSpec, bind, choose
from postroom.model.errors import Conflict, PostroomError
from postroom.service.gateway import Gateway
from postroom.service.notices import notices
from postroom.settings import Settings, SettingsError
from postroom.settings.dialects import Traits
from postroom.settings.sections import ServerSettings

R = TypeVar("R", CallToolResult, CallToolResult | InputRequiredResult)


# How a dialect words an error of one of its tools: as the tool's result, or as an error of the protocol.
Failure = Callable[[PostroomError, str], CallToolResult | MCPError]


# The prompts that can be carried out with the tools of these names.
RegisterPrompts = Callable[[MCPServer[Gateway], Collection[str]], None]


class Resources(Protocol):
    """Email as resources, including inboxes that can be subscribed to."""

    def inboxes(self, accounts: Iterable[str]) -> Mapping[str, str]:
        """URI to account."""
        ...

    def listed(self, found: Mapping[str, str]) -> list[Resource]: ...

    def register(self, server: MCPServer[Gateway]) -> None: ...


class Dialect(Protocol):
    """What a module of `dialects` offers."""

    TOOLSETS: tuple[Toolset, ...]
    INSTRUCTIONS: str
    # Optional; a dialect without them offers none, and reports errors in the usual form:
    #   RESOURCES: Resources
    #   register_prompts: RegisterPrompts
    #   failure: Failure


class PostroomServer(MCPServer[Gateway]):
    """The SDK's server with our rules: nothing unknown passes, every failure has a code, never a traceback."""

    def __init__(
        self,
        *,
        dialect: Dialect,
        traits: Traits,
        tools: list[Tool],
        lifespan: SharedGateway,
        resources: Resources | None,
        live: Live | None,
        name: str = "postroom",
        client: str = "",
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(
            "postroom",
            title="Postroom",
            version=__version__,
            instructions=dialect.INSTRUCTIONS,
            tools=tools,
            lifespan=lifespan,
            subscriptions=live.bus if live else False,
            log_level="WARNING",
        )
        without_own_spans(self)
        without_questions = [tool.name for tool in tools if not isinstance(tool, AskingTool)]
        self.plain_calls = PlainCalls(lowlevel_server(self), without_questions)
        lowlevel_server(self).middleware.insert(0, self.plain_calls)
        self._dialect = name
        self.gateway = lifespan
        self.listening: subscriptions.Listening | None = None
        self._traits = traits
        self._client = {"client": client} if client else {}
        self.metrics = metrics or Metrics()
        self._resources = resources
        self._inboxes = live.inboxes if live else {}
        self._toolset_of = {spec.name: toolset.name for toolset in dialect.TOOLSETS for spec in toolset.specs}
        self._registered = {tool.name: tool for tool in tools}
        self._failure: Failure = getattr(dialect, "failure", failures.failure)

    @property
    def request_bytes(self) -> int:
        """What the dialect's largest call may need."""
        return self._traits.request_bytes

    def toolset_called(self, message: Mapping[str, Any]) -> str:
        """Of the tool that a JSON-RPC message calls, whether it is offered or not; empty if it calls none."""
        params = message.get("params")
        name = params.get("name") if isinstance(params, Mapping) and message.get("method") == "tools/call" else None
        return self._toolset_of.get(name, "") if isinstance(name, str) else ""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Gateway, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        tracing.caused_by(_carriers(context))
        shown = name if name in self._registered else "unknown"
        with tracing.span("tool_call", tool=shown, dialect=self._dialect) as traced:
            return await self._called(name, arguments, context, traced)

    async def _called(
        self, name: str, arguments: dict[str, Any], context: Context[Gateway, Any] | None, traced: tracing.Marks
    ) -> CallToolResult | InputRequiredResult:
        started, error = time.perf_counter(), None
        try:
            with fill_progress.reported(self._registered.get(name), context):
                result = await super().call_tool(name, self._admitted(name, arguments), context)
            return self._noticed(result)
        except (PostroomError, ToolError) as problem:
            error = failures.as_postroom_error(problem, name)
            return self._noticed(self._worded(error, name))
        except BaseException:
            error = error or Conflict("The call was cancelled before it ended.")
            raise
        finally:
            duration = time.perf_counter() - started
            traced.mark(outcome=error.code if error else "ok")
            line = self._log(name, arguments, error, duration)
            await self._audit(name, arguments, error, duration)
            await client_log.tell(context, "warning" if error else "info", line)

    def _worded(self, error: PostroomError, tool: str) -> CallToolResult:
        answer = self._failure(failures.advise_within(error, self._registered), tool)
        if isinstance(answer, MCPError):
            raise answer
        return answer

    def _log(
        self, name: str, arguments: Mapping[str, Any], error: PostroomError | None, duration: float
    ) -> Mapping[str, Any]:
        tool, fields = self._registered.get(name), self._traits.log_fields.get(name, ())
        shown, code = name if tool is not None else "unknown", error.code if error else ""
        status = "error" if error else "ok"
        line: dict[str, Any] = {"tool": shown, "duration_ms": round(duration * 1000, 1), **self._client}
        if tool is not None and fields:  # these, and no others: a contract names them
            line |= {"status": code or status, **fields_of(fields, arguments, tool.parameters.get("properties", {}))}
        else:
            line |= {"status": status, "code": code}
        log.info("tool_call", extra=line)
        self.metrics.called(shown, status, code, duration)
        return line

    async def _audit(
        self, name: str, arguments: Mapping[str, Any], error: PostroomError | None, duration: float
    ) -> None:
        """Audit calls that did not come to the gate, if the dialect wants them audited."""
        gateway = self.gateway.opened
        if gateway is None or name not in self._traits.audited_tools or name not in self._registered:
            return
        annotations = self._registered[name].annotations
        sends = annotations is not None and annotations.open_world_hint
        if sends and (error is None or error.is_audited):  # the gate did it
            return
        from postroom.service.sending.auditing import audit_call

        writes = annotations is None or not annotations.read_only_hint
        is_logged_only = writes and gateway.settings.safety.dev_mode
        started = gateway.now() - timedelta(seconds=duration)
        with anyio.CancelScope(shield=True):
            to = arguments.get("to", "")
            await audit_call(gateway, name, started, error, to=str(to), is_logged_only=is_logged_only)

    def _noticed(self, result: R) -> R:
        """Add notices to a result, each in its own block: dialects word theirs exactly."""
        gateway = self.gateway.opened
        if gateway is not None and isinstance(result, CallToolResult):
            result.content.extend(TextContent(type="text", text=f"Notice: {each}") for each in notices(gateway))
        return result

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Gateway, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """The SDK treats an unknown name or argument, or one that is missing, as a failure of the server."""
        failures.refuse_unfit_prompt(name, arguments or {}, await self.list_prompts())
        return await super().get_prompt(name, arguments, context)

    async def list_resources(self) -> list[Resource]:
        """The inboxes by name. Other resources are found by listing, searching and following links."""
        return self._resources.listed(self._inboxes) if self._resources else []

    def _admitted(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they may be used. Many models send `null` to omit an argument."""
        tool = self._registered.get(name)
        if tool is None:
            raise failures.refuse_unknown_tool(name, self._registered, self._toolset_of)
        properties = tool.parameters.get("properties", {})
        failures.refuse_unknown_arguments(name, arguments, properties)
        failures.refuse_truth_for_number(name, arguments, properties)
        failures.refuse_unfit_text(name, arguments)
        return {key: value for key, value in arguments.items() if value is not None}


def _carriers(context: Context[Gateway, Any] | None) -> Iterator[Mapping[str, Any] | None]:
    """Where a client may say what a call belongs to: in the message, or in a header of the HTTP request."""
    if context is not None:
        ctx = context.request_context
        yield ctx.meta
        yield getattr(ctx.request, "headers", None)


class SharedGateway:
    """The server's lifespan. The HTTP server enters it once per transport, nested: the outermost opens and closes."""

    def __init__(self, open_gateway: OpenGateway) -> None:
        self._open_gateway = open_gateway
        self._gateway: Gateway | None = None

    @property
    def opened(self) -> Gateway | None:
        return self._gateway

    def __call__(self, _server: MCPServer[Gateway]) -> AbstractAsyncContextManager[Gateway]:
        return self._entered()

    @asynccontextmanager
    async def _entered(self) -> AsyncIterator[Gateway]:
        if self._gateway is not None:
            yield self._gateway
            return
        async with self._open_gateway() as gateway:
            self._gateway = gateway
            try:
                yield gateway
            finally:
                self._gateway = None


def dialect_names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(dialects.__path__))


def load_dialect(name: str) -> Dialect:
    """Only the chosen dialect is imported."""
    spoken = dialect_names()
    if name not in spoken:
        raise SettingsError(f"server.dialect: this version has no dialect {name}; choose one of {', '.join(spoken)}")
    module: Any = importlib.import_module(f"postroom.doors.mcp.dialects.{name}")
    dialect: Dialect = module
    return dialect


def count_tools(settings: Settings) -> int:
    """How many tools these settings offer. SettingsError if they cannot be served."""
    return len(_chosen(load_dialect(settings.server.dialect), settings.server))


def _chosen(dialect: Dialect, server: ServerSettings) -> list[ToolSpec]:
    known = [toolset.name for toolset in dialect.TOOLSETS]
    absent = [name for name in server.toolsets if name not in known]
    if absent:
        raise SettingsError(
            f"server.toolsets: dialect {server.dialect} has no toolset {', '.join(absent)}; "
            f"choose from {', '.join(known)}"
        )
    specs = choose(dialect.TOOLSETS, server.toolsets, read_only=server.read_only)
    if not specs:
        raise SettingsError(f"server.toolsets: no tool is left to offer; choose from {', '.join(known)}")
    return specs


def _resources_of(dialect: Dialect, server: ServerSettings) -> Resources | None:
    """A resource is read, so it is offered only to those who may read."""
    return getattr(dialect, "RESOURCES", None) if "read" in server.toolsets else None


def build_server(
    open_gateway: OpenGateway, settings: Settings, *, client: str = "", metrics: Metrics | None = None
) -> PostroomServer:
    """The server for one operator's settings, or one client's: its dialect, its toolsets, read-only or not."""
    dialect = load_dialect(settings.server.dialect)
    tools = [bind(spec) for spec in _chosen(dialect, settings.server)]
    resources = _resources_of(dialect, settings.server)
    live = Live(resources.inboxes(account.name for account in settings.accounts)) if resources else None
    lifespan = SharedGateway(live.beside(open_gateway) if live else open_gateway)
    server = PostroomServer(
        dialect=dialect,
        traits=settings.traits,
        tools=tools,
        lifespan=lifespan,
        resources=resources,
        live=live,
        name=settings.server.dialect,
        client=client,
        metrics=metrics,
    )
    client_log.register(server)
    if resources is not None and live is not None:
        resources.register(server)
        server.listening = subscriptions.register(server, live)
    register_prompts: RegisterPrompts | None = getattr(dialect, "register_prompts", None)
    if register_prompts is not None:
        register_prompts(server, [tool.name for tool in tools])
    return server
