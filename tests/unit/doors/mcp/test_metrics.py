from __future__ import annotations

import re

from starlette.applications import Starlette
from starlette.testclient import TestClient

from postroom.doors.mcp.http.health import health_routes
from postroom.doors.mcp.metrics import BUCKETS, Metrics
from postroom.doors.mcp.server import PostroomServer

LINE = re.compile(r'^(# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.+e-]+)$')


def test_calls_are_counted_by_tool_and_result() -> None:
    metrics = Metrics()
    metrics.called("read_email", "ok", "", 0.02)
    metrics.called("read_email", "ok", "", 3.0)
    metrics.called("read_email", "error", "NOT_FOUND", 0.001)

    lines = metrics.text([("held", 2)]).splitlines()

    assert 'postroom_tool_calls_total{tool="read_email",status="ok",code=""} 2' in lines
    assert 'postroom_tool_calls_total{tool="read_email",status="error",code="NOT_FOUND"} 1' in lines
    assert 'postroom_tool_call_seconds_bucket{tool="read_email",le="0.025"} 2' in lines
    assert 'postroom_tool_call_seconds_bucket{tool="read_email",le="+Inf"} 3' in lines
    assert 'postroom_tool_call_seconds_count{tool="read_email"} 3' in lines
    assert 'postroom_outbox{state="held"} 2' in lines


def test_every_line_has_the_form_that_prometheus_reads_and_buckets_only_grow() -> None:
    metrics = Metrics()
    for number in range(100):
        metrics.called("list_emails", "ok", "", number / 10)

    text = metrics.text()
    counts = [int(line.split()[-1]) for line in text.splitlines() if "_bucket" in line]

    assert text.endswith("\n")
    assert [line for line in text.splitlines() if not LINE.match(line)] == []
    assert counts == sorted(counts)
    assert len(counts) == len(BUCKETS) + 1


def test_a_server_without_an_open_gateway_is_alive_and_not_ready(server: PostroomServer) -> None:
    asking = TestClient(Starlette(routes=health_routes(server)))

    assert asking.get("/healthz").status_code == 200
    assert asking.get("/readyz").status_code == 503
    assert asking.get("/metrics").status_code == 200
