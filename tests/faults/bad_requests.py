"""Bad HTTP requests without end, the same ones for the same seed: broken at any level from bytes to tool arguments."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.faults.bad_values import (
    BODIES,
    CHUNKS,
    FIELDS,
    HEADERS,
    LATEST,
    METHODS,
    PATHS,
    RPC_METHODS,
    VALUES,
    VERSIONS,
)


@dataclass(frozen=True, slots=True)
class BadRequest:
    kind: str
    data: bytes
    ends: bool = True  # the server can know that it is over; otherwise the client has to hang up


class BadRequests:
    """`tools` as the server lists them. `session` is one that it knows."""

    def __init__(self, seed: int, tools: list[dict[str, Any]], session: str) -> None:
        self._random = random.Random(seed)
        self._tools = tools
        self._session = session
        self._kinds: list[Callable[[], BadRequest]] = [
            *(self._noise, self._request_line, self._header, self._length, self._chunked, self._refused, self._body),
            *(
                self._rpc,
                self._params,
                self._session_use,
                self._modern,
                self._tool,
                self._tool,
                self._tool,
                self._mutated,
            ),
        ]

    def __iter__(self) -> Iterator[BadRequest]:
        while True:
            yield self._random.choice(self._kinds)()

    def _any(self, choices: list[Any]) -> Any:
        return self._random.choice(choices)

    def _noise(self) -> BadRequest:
        return BadRequest("noise", self._random.randbytes(self._random.randrange(1, 2000)) + b"\r\n\r\n", ends=False)

    def _request_line(self) -> BadRequest:
        version = self._any(["HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1 x", "", "http/1.1"])
        line = f"{self._any(METHODS)} {self._any(PATHS)} {version}\r\n".encode("latin-1")
        return BadRequest("request line", line + _head() + b"\r\n", ends=False)

    def _header(self) -> BadRequest:
        extra = [self._any(HEADERS) for _ in range(self._random.randrange(1, 4))]
        host = b"" if any(each.startswith(b"Host") for each in extra) else b"Host: 127.0.0.1\r\n"
        lines = b"".join(line + b"\r\n" for line in extra)
        method = self._any([b"GET", b"POST", b"DELETE"])
        path = self._any([b"/mcp", b"/healthz", b"/metrics"])
        return BadRequest("header", b"%s %s HTTP/1.1\r\n%s%s\r\n" % (method, path, host, lines), ends=False)

    def _length(self) -> BadRequest:
        body = _json(_call("ping", {}))
        said = self._any([len(body) + 1, 10**6, 2**63, 10**20, 0, 1, len(body) - 1])
        return BadRequest("length", _post(b"Content-Length: %d\r\n" % said) + body, ends=said <= len(body))

    def _chunked(self) -> BadRequest:
        lies = self._any([b"", b"Content-Length: 3\r\n", b"Content-Length: x\r\n"])
        return BadRequest("chunked", _post(b"Transfer-Encoding: chunked\r\n" + lies) + self._any(CHUNKS), ends=False)

    def _refused(self) -> BadRequest:
        """By its headers, while its body is broken as well."""
        head = b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\n\r\n"
        return BadRequest("refused", head + self._any(CHUNKS), ends=False)

    def _body(self) -> BadRequest:
        return self._posted("body", self._any(BODIES))

    def _rpc(self) -> BadRequest:
        message: Any = {"jsonrpc": "2.0", "id": 1, "method": self._any(RPC_METHODS), "params": {}}
        for name in self._random.sample(sorted(message), self._random.randrange(1, 4)):
            if self._random.random() < 0.3:
                del message[name]
            else:
                message[name] = self._any(VALUES)
        if self._random.random() < 0.2:
            message[self._any(["result", "error", "x"])] = self._any(VALUES)
        return self._posted("json-rpc", _json([message] if self._random.random() < 0.1 else message))

    def _params(self) -> BadRequest:
        names = self._random.sample(FIELDS, self._random.randrange(1, 5))
        method = self._any(RPC_METHODS)
        return self._posted("params", _json(_call(method, {name: self._value() for name in names})))

    def _session_use(self) -> BadRequest:
        known = self._random.random() < 0.5
        session = self._session if known else self._any(["", "x", "0" * 32, "\xff", "x" * 9000, self._session.upper()])
        headers = f"Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {self._any(VERSIONS)}\r\n".encode("latin-1")
        if self._random.random() < 0.3:
            method = b"GET" if known else self._any([b"GET", b"DELETE"])
            line = b"%s /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n" % method
            return BadRequest("session", line + headers + _head() + b"\r\n", ends=False)
        message = _call(self._any(RPC_METHODS), {self._any(FIELDS): self._value()})
        return self._posted("session", _json(message), headers)

    def _modern(self) -> BadRequest:
        meta = {f"io.modelcontextprotocol/{name}": self._value() for name in ("protocolVersion", "clientInfo")}
        meta["io.modelcontextprotocol/clientCapabilities"] = self._any([{}, *VALUES])
        if self._random.random() < 0.7:
            meta["io.modelcontextprotocol/protocolVersion"] = LATEST
        method = self._any(RPC_METHODS)
        params = {"_meta": meta, self._any(FIELDS): self._value()}
        name = self._any([method, "ping", "x"]).encode("utf-8", "replace").replace(b"\x00", b"")
        headers = b"MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n" % (LATEST.encode(), name)
        return self._posted("2026", _json(_call(method, params)), headers)

    def _tool(self) -> BadRequest:
        tool = self._any(self._tools)
        properties = tool["inputSchema"].get("properties", {})
        arguments: dict[str, Any] = dict.fromkeys(tool["inputSchema"].get("required", ()), "x")
        for name in self._random.sample(sorted(properties), min(len(properties), self._random.randrange(1, 4))):
            arguments[name] = self._value()
        if self._random.random() < 0.1:
            arguments[self._any(["", "x", "\ud800", "__class__"])] = self._value()
        return self._posted("tool", _json(_call("tools/call", {"name": tool["name"], "arguments": arguments})))

    def _mutated(self) -> BadRequest:
        """A good call with a few bytes changed."""
        tool = self._any(self._tools)["name"]
        body = bytearray(_json(_call("tools/call", {"name": tool, "arguments": {"account": "alex"}})))
        for _ in range(self._random.randrange(1, 5)):
            body[self._random.randrange(len(body))] = self._random.randrange(256)
        return self._posted("mutated", bytes(body))

    def _value(self) -> Any:
        value = self._any(VALUES)
        return self._any([[value], {"x": value}, [value, "x"]]) if self._random.random() < 0.2 else value

    def _posted(self, kind: str, body: bytes, headers: bytes = b"") -> BadRequest:
        accept = self._any([b"Accept: application/json, text/event-stream\r\n", b"Accept: application/json\r\n", b""])
        length = b"Content-Length: %d\r\n" % len(body)
        return BadRequest(kind, _post(accept + headers + length) + body)


def _head() -> bytes:
    return b"Host: 127.0.0.1\r\nConnection: close\r\n"


def _post(headers: bytes) -> bytes:
    return b"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\n" + _head() + headers + b"\r\n"


def _call(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _json(message: Any) -> bytes:
    return json.dumps(message).encode()
