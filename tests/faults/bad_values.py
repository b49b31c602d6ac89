"""What bad requests are made of."""

from __future__ import annotations

from typing import Any

LATEST = "2026-07-28"

_DEEP: Any = []
for _ in range(200):
    _DEEP = [_DEEP]

# fmt: off
VERSIONS = [
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", LATEST, "1999-01-01", "2026-07-28 ", "x" * 300, "\xff",
]
METHODS = [
    "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "BREW", "A" * 500, "P\xd6ST",
]
PATHS = [
    "/mcp", "/mcp/", "/", "*", "/healthz", "/readyz", "/metrics", "//mcp", "/mcp?x=%00", "/%6dcp", "/%ff%fe",
    "/..%2fmcp", "mcp", "http://127.0.0.1/mcp", "http://[/mcp", "/mcp#x", "/" + "a" * 9000,
    "/.well-known/oauth-protected-resource",
]
HEADERS = [
    b"Host: [", b"Host: ", b"Host: evil.example", b"Host: 127.0.0.1:99999999", b"Host: a@127.0.0.1", b"Host: \xff\xfe",
    b"Host: 127.0.0.1\xe2\x84\x80", b"Host: [v1.x]", b"Origin: null", b"Origin: http://[", b"Origin: http://[::1",
    b"Origin: http://\xff", b"Origin: //", b"Origin: x://a]b", b"Origin: http://127.0.0.1:port",
    b"Origin: http://localhost\xe2\x84\x80", b"Authorization: Bearer", b"Authorization: Basic \xff",
    b"Authorization: Bearer " + b"t" * 8000, b"Accept: \x80", b"Accept: text/html", b"Accept: text/event-stream;q=0",
    b"Accept: application/json;q=x", b"Accept-Encoding: \x7f", b"Content-Length: -1", b"Content-Length: 1e3",
    b"Content-Length: " + b"9" * 5000, b"Content-Length: 0x10", b"Content-Length: 5, 6", b"Content-Length: \xb2",
    b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked, chunked", b"Content-Type: text/plain",
    b"Content-Type: application/json; charset=utf-7", b"Content-Type: \xff/\xff", b"Expect: 100-continue",
    b"Upgrade: websocket", b"Upgrade: h2c", b"No colon", b": empty", b"X y: z", b"X: \x00", b"X: a\rb", b" folded: x",
    b"X: " + b"y" * 70_000, b"Last-Event-ID: \xff", b"Last-Event-ID: 1", b"Mcp-Name: =?base64?!!?=", b"Mcp-Method: x",
]
CHUNKS = [
    b"zz\r\nabc\r\n0\r\n\r\n", b"-1\r\nabc\r\n0\r\n\r\n", b"ffffffffffffffffffff\r\nabc", b"5\r\nab", b"", b"0\r\n",
    b"3\r\nabcdef\r\n0\r\n\r\n", b"3;x=\xff\r\nabc\r\n0\r\n\r\n", b"3\nabc\n0\n\n", b"0\r\nX: y\r\n\r\n", b"3" * 70_000,
    b"0\r\n\r\nGET",
]
BODIES = [
    b"", b" ", b"{", b"nul", b"NaN", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'"\\ud800"', b'{"a":1,"a":2}', b"[]",
    b"[[]]", b"[" * 100_000, b'{"a":' * 50_000, b"9" * 5000, b"\x00", b"1e999", b'{"method":"\xff"}', b"-" * 10_000,
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', b'{"method":"ping","jsonrpc":"2.0","id":1}' * 2,
    b'"' + b"x" * 100_000,
]
RPC_METHODS = [
    "initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
    "resources/templates/list", "resources/subscribe", "resources/unsubscribe", "completion/complete",
    "logging/setLevel", "server/discover", "roots/list", "sampling/createMessage", "notifications/initialized",
    "notifications/cancelled", "notifications/progress", "tasks/get", "", "x" * 5000, "tools/call\x00", "\u202e",
    "rpc.discover", "__init__",
]
FIELDS = [
    "protocolVersion", "capabilities", "clientInfo", "name", "arguments", "uri", "cursor", "ref", "argument", "level",
    "_meta", "requestId", "progressToken", "progress", "reason", "context", "task", "requestState", "inputResponses",
    "notifications",
]
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf"),
    "", " ", "x", "\x00", "\ud800", "\u202e\u2066", "é" * 2000, "x" * 100_000, "../../etc/passwd", "null", "[]", "0",
    "\U0001f4a9", "2026-13-45", "a@b", "a@b\r\nBcc: c@d", "<a@b>", "=?utf-8?b?!!?=", "from:(((", "m-none", "%00",
    "postroom://x/y", "postroom://", [], [None], [[]], ["x"] * 5000, [0], {}, {"": ""}, {"x": {"x": {}}},
    {"$ref": "#"}, [{"uri": []}], _DEEP, {"type": "ref/prompt"},
]
# fmt: on
