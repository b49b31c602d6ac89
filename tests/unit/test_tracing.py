"""Spans: what is exported of a call, where it belongs, and that nothing is done when nobody asks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.peers.web.faults import Fault
from tests.peers.web.messages import Answer, Recorded, Request
from tests.peers.web.peer import WebPeer

from postroom import tracing

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


@contextmanager
def recorded() -> Iterator[Callable[[], tuple[ReadableSpan, ...]]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with tracing.through(provider):
        yield exporter.get_finished_spans


def failing() -> None:
    with tracing.span("submit", provider="imap") as inner:
        inner.mark(outcome="INTERNAL_ERROR", reason="secret")
        raise OSError("secret")


def test_a_span_has_only_allowed_attributes_in_our_own_words() -> None:
    with recorded() as spans:
        with (
            tracing.span("tool_call", tool="read_email", subject="secret", provider="a@b.example"),
            pytest.raises(OSError),
        ):
            failing()
        submit, call = spans()

    assert dict(call.attributes or {}) == {"postroom.tool": "read_email", "postroom.provider": "other"}
    assert dict(submit.attributes or {}) == {"postroom.provider": "imap", "postroom.outcome": "INTERNAL_ERROR"}
    assert submit.parent is not None
    assert submit.parent.span_id == call.context.span_id
    assert (submit.events, submit.status.description, submit.status.is_ok) == ((), None, False)


@pytest.mark.parametrize(
    "carriers", [[None, {"traceparent": TRACEPARENT}], [{"traceparent": TRACEPARENT, "tracestate": "k=secret"}]]
)
def test_a_call_belongs_to_the_trace_of_the_client_and_takes_no_text_from_it(
    carriers: list[dict[str, str] | None],
) -> None:
    with recorded() as spans:
        tracing.caused_by(iter(carriers))
        with tracing.span("tool_call"), tracing.span("submit"):
            pass
        tracing.caused_by(iter([]))
        submit, call = spans()

    assert call.parent is not None
    assert (f"{call.context.trace_id:032x}", f"{call.parent.span_id:016x}") == (TRACE, PARENT)
    assert submit.context.trace_id == call.context.trace_id
    assert not call.context.trace_state


@pytest.mark.parametrize("given", ["", "x", "00-zz-zz-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", 7, None, ["x"]])
def test_a_traceparent_that_is_none_begins_a_new_trace(given: object) -> None:
    with recorded() as spans:
        tracing.caused_by(iter([{"traceparent": given}]))
        with tracing.span("tool_call"):
            pass
        tracing.caused_by(iter([]))

        assert [span.parent for span in spans()] == [None]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
    ],
)
def test_nothing_is_traced_unless_asked_for(environ: dict[str, str]) -> None:
    with tracing.exporting(environ, "1") as problem:
        assert problem == ""
        assert tracing.span("tool_call") is tracing.span("submit")


def test_without_the_extra_a_wish_for_traces_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with tracing.exporting({"OTEL_TRACES_EXPORTER": "otlp"}, "1") as problem:
        assert "postroom[otel]" in problem
        assert tracing.span("tool_call") is tracing.span("submit")


def test_a_server_that_nobody_wants_traces_of_does_not_load_the_sdk_for_it() -> None:
    program = (
        "import sys, postroom.doors.mcp.server, postroom.tracing as t\n"
        "with t.exporting({}, '1'): t.span('tool_call')\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry.sdk')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class Collector(WebPeer):
    def __init__(self) -> None:
        super().__init__()
        self.received = b""

    def operation_of(self, request: Request) -> str:
        return "traces" if request.path == "/v1/traces" else ""

    def respond(self, request: Request, _recorded: Recorded) -> Answer:
        self.received += request.body
        return Answer(200, b"", {"content-type": "application/x-protobuf"})

    def error(self, fault: Fault) -> Answer:
        return Answer(fault.status)


def test_spans_are_sent_to_the_collector_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector().run() as collector:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        with tracing.exporting(environ, "1"), tracing.span("tool_call", tool="read_email"):
            pass

    assert b"read_email" in collector.received
    assert b"postroom" in collector.received
