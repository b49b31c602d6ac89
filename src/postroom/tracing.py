"""Spans for OpenTelemetry: which tool, which provider call, how it ended and how long it took. Never what about.

Off, and free, unless the extra `postroom[otel]` is installed and a standard variable (OTEL_EXPORTER_OTLP_ENDPOINT,
OTEL_TRACES_EXPORTER) says where to send them. The tracer provider is not made global: other libraries, whose spans may
contain anything, stay silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import Span, Tracer

Name = Literal["tool_call", "provider_call", "submit"]
ATTRIBUTES = frozenset({"tool", "dialect", "provider", "verb", "outcome"})
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # what our own names and codes consist of
_TRACEPARENT = "traceparent"

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXPORTER = "OTEL_TRACES_EXPORTER"
_DISABLED = "OTEL_SDK_DISABLED"

_tracer: Tracer | None = None
_caller: ContextVar[str] = ContextVar("traceparent", default="")


class Marks(Protocol):
    """What a span can be given: the attributes of the allow-list, in words of our own."""

    def mark(self, **attributes: str) -> None: ...


class _Nothing:
    def mark(self, **_attributes: str) -> None: ...

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_error: object) -> None: ...


class _Marked:
    def __init__(self, span: Span) -> None:
        self._span = span

    def mark(self, **attributes: str) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attributes(_allowed(attributes))
        if attributes.get("outcome", "ok") not in ("ok", "accepted"):
            self._span.set_status(StatusCode.ERROR)


_NOTHING = _Nothing()


def span(name: Name, **attributes: str) -> AbstractContextManager[Marks]:
    """A span around what is done within, below the one around it."""
    return _NOTHING if _tracer is None else _span(_tracer, name, attributes)


@contextmanager
def _span(tracer: Tracer, name: Name, attributes: Mapping[str, str]) -> Iterator[Marks]:
    with tracer.start_as_current_span(
        name,
        context=_parent(),
        attributes=_allowed(attributes),
        record_exception=False,  # its message may contain anything
        set_status_on_exception=False,
    ) as started:
        yield _Marked(started)


def caused_by(carriers: Iterator[Mapping[str, Any] | None]) -> None:
    """The trace that the calls of this task belong to, by the first `traceparent` that is found. What a client may add
    to it (tracestate, baggage) is left out: it is free text."""
    if _tracer is None:
        return
    given = [carrier.get(_TRACEPARENT) for carrier in carriers if carrier is not None]
    _caller.set(next((each for each in given if isinstance(each, str) and each), ""))


def _parent() -> Any:
    """None: the span around it."""
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    if get_current_span().get_span_context().is_valid or not _caller.get():
        return None
    return TraceContextTextMapPropagator().extract({_TRACEPARENT: _caller.get()})


def _allowed(attributes: Mapping[str, str]) -> dict[str, str]:
    return {
        f"postroom.{key}": value if _WORD.fullmatch(value) else "other"
        for key, value in attributes.items()
        if key in ATTRIBUTES
    }


@contextmanager
def exporting(environ: Mapping[str, str], version: str) -> Iterator[str]:
    """Export spans while within, if the environment wants it. Yields why that is not possible; otherwise nothing."""
    if not _is_wanted(environ):
        yield ""
        return
    try:
        provider = _provider(environ, version)
    except ImportError:
        yield "OTEL_* variables ask for traces, but the extra is not installed: pip install 'postroom[otel]'"
        return
    with through(provider):
        yield ""


@contextmanager
def through(provider: TracerProvider) -> Iterator[None]:
    """Spans go to this provider, which is shut down at the end."""
    global _tracer
    _tracer = provider.get_tracer("postroom")
    try:
        yield
    finally:
        _tracer = None
        provider.shutdown()


def _is_wanted(environ: Mapping[str, str]) -> bool:
    if environ.get(_DISABLED, "").strip().lower() == "true":
        return False
    exporter = environ.get(_EXPORTER, "").strip().lower()
    return exporter != "none" and bool(exporter or any(environ.get(name) for name in _ENDPOINTS))


def _provider(environ: Mapping[str, str], version: str) -> TracerProvider:
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
    from opentelemetry.sdk.trace import TracerProvider

    described = Resource.create({SERVICE_VERSION: version})  # with what OTEL_RESOURCE_ATTRIBUTES adds
    if not environ.get("OTEL_SERVICE_NAME") and "service.name" not in environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        described = described.merge(Resource({SERVICE_NAME: "postroom"}))
    provider = TracerProvider(resource=described)  # sampler and limits from OTEL_TRACES_SAMPLER and the like
    provider.add_span_processor(_processor(environ))
    return provider


def _processor(environ: Mapping[str, str]) -> SpanProcessor:
    import sys

    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    if environ.get(_EXPORTER, "").strip().lower() == "console":
        return BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr))  # stdout belongs to the protocol
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return BatchSpanProcessor(OTLPSpanExporter())
