"""The HTTP server with the tools, prompts and resources that the MCP conformance suite asks for.

    python -m tests.peers.conformance_server PORT HOME

Everything between the socket and the tools is Postroom's own: the guard, the applications, the server and its errors.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.mcpserver.tools import Tool
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    Resource,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

from postroom.doors.mcp import client_log, subscriptions
from postroom.doors.mcp.http.app import http_app
from postroom.doors.mcp.live import Live
from postroom.doors.mcp.server import PostroomServer, SharedGateway
from postroom.settings import load_demo
from postroom.wiring import open_working_gateway

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()
WATCHED = "test://watched-resource"


class Answer(BaseModel):
    username: str
    email: str


def text(said: str) -> TextContent:
    return TextContent(type="text", text=said)


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, said: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=said))


def test_simple_text() -> str:
    return "This is a simple text response for testing."


def test_image_content() -> ImageContent:
    return image()


def test_audio_content() -> AudioContent:
    return AudioContent(type="audio", data=SOUND, mime_type="audio/wav")


def test_embedded_resource() -> EmbeddedResource:
    return embedded("test://embedded-resource", "This is an embedded resource content.")


def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    mixed = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [text("Multiple content types test:"), image(), mixed]


async def test_tool_with_logging(ctx: Context[Any, Any]) -> str:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.log("info", said)
    return "done"


async def test_tool_with_progress(ctx: Context[Any, Any]) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
    return "done"


def test_error_handling() -> str:
    raise ToolError("This tool intentionally returns an error for testing")


async def test_elicitation(message: str, ctx: Context[Any, Any]) -> str:
    answer = await ctx.elicit(message, Answer)
    return f"User response: {answer.action}"


async def test_elicitation_sep1034_defaults(ctx: Context[Any, Any]) -> str:
    return await ask(
        ctx,
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )


async def test_elicitation_sep1330_enums(ctx: Context[Any, Any]) -> str:
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
    return await ask(
        ctx,
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )


async def ask(ctx: Context[Any, Any], **properties: Any) -> str:
    schema = {"type": "object", "properties": properties, "required": []}
    answer = await ctx.session.elicit_form("Please answer.", schema, ctx.request_id)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


async def test_sampling(prompt: str, ctx: Context[Any, Any]) -> str:
    asked = SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {answer.content}"


TOOLS: list[Callable[..., Any]] = [
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_tool_with_logging,
    test_tool_with_progress,
    test_error_handling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_sampling,
]


class Fixtures:
    """The resources."""

    def inboxes(self, accounts: Iterable[str]) -> Mapping[str, str]:
        return {WATCHED: next(iter(accounts))}

    def listed(self, found: Mapping[str, str]) -> list[Resource]:
        known = {"test://static-text": "text/plain", "test://static-binary": "image/png"}
        return [Resource(uri=uri, name=uri, mime_type=known.get(uri, "text/plain")) for uri in (*known, *found)]

    def register(self, server: MCPServer[Any]) -> None:
        @server.resource("test://static-text", mime_type="text/plain")
        def static_text() -> str:
            return "This is the content of the static text resource."

        @server.resource("test://static-binary", mime_type="image/png")
        def static_binary() -> bytes:
            return base64.b64decode(PIXEL)

        @server.resource("test://template/{id}/data", mime_type="application/json")
        def template(id: str) -> str:  # noqa: A002 (the suite names it)
            return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


class Fixture:
    TOOLSETS = ()
    INSTRUCTIONS = "For the conformance suite."
    RESOURCES = Fixtures()


def register_prompts(server: MCPServer[Any]) -> None:
    @server.prompt(description="A prompt of the suite.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="A prompt of the suite.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A prompt of the suite.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 (the suite names it)
        return [UserMessage(embedded(resourceUri, "Embedded resource content for testing.")), UserMessage("See above.")]

    @server.prompt(description="A prompt of the suite.")
    def test_prompt_with_image() -> list[Message]:
        return [UserMessage(image()), UserMessage("Please analyze the image above.")]

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=[], total=0, has_more=False)


def build(home: Path) -> PostroomServer:
    settings = load_demo(environ={"POSTROOM_HOME": str(home), "XDG_CONFIG_HOME": str(home)})
    live = Live(Fixture.RESOURCES.inboxes(account.name for account in settings.accounts))
    server = PostroomServer(
        dialect=Fixture(),
        traits=settings.traits,
        tools=[Tool.from_function(each, description=each.__name__) for each in TOOLS],
        lifespan=SharedGateway(live.beside(lambda: open_working_gateway(settings))),
        live=live,
        resources=Fixture.RESOURCES,
    )
    client_log.register(server)
    Fixture.RESOURCES.register(server)
    server.listening = subscriptions.register(server, live)
    register_prompts(server)
    return server


if __name__ == "__main__":
    config = uvicorn.Config(http_app(build(Path(sys.argv[2]))), port=int(sys.argv[1]), log_level="warning")
    anyio.run(uvicorn.Server(config).serve)
