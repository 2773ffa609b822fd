"""A trainer that still has RL-Insight 0.3 installed, with this server: the requests that its hub makes."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from harness import running_server, wait_until


def test_its_traces_and_metrics_arrive_and_its_engines_are_read(tmp_path: Path) -> None:
    hub = CollectorRegistry()
    reward = Gauge("rl_insight_monitor_reward_mean", "", ["worker"], registry=hub).labels("trainer_0")
    steps = Counter("rl_insight_monitor_train_step", "", registry=hub)
    exporter, thread = start_http_server(0, "127.0.0.1", registry=hub)
    with running_server(tmp_path / "data", settings={"scrape": {"interval": 0.2}}) as server:
        services = server.request("GET", "/api/v1/services").body
        assert services["status"] == server.request("GET", "/healthz").body["status"] == "ok"
        # The hub registers itself, and sends a state that has ended as a root span.
        target = {"target": f"127.0.0.1:{exporter.server_port}"}
        body = json.dumps({"job_name": "trainer_metrics", "targets": [target]}).encode()
        assert server.request("POST", "/api/v1/prometheus/targets", body).status == 200
        said = {"state_name": "rollout", "state_lane_id": "trainer_0", "monitor.trace_segment": "state_interval"}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
        attributes.append({"key": "step", "value": {"intValue": "10"}})
        now = time.time_ns()
        span = {
            "traceId": "0af7651916cd43dd8448eb211c80319c",
            "spanId": "b7ad6b7169203331",
            "name": "rollout",
            "startTimeUnixNano": str(now - 10**9),
            "endTimeUnixNano": str(now),
            "attributes": attributes,
        }
        named = {"attributes": [{"key": "service.name", "value": {"stringValue": "rl_insight_monitor"}}]}
        traces = {"resourceSpans": [{"resource": named, "scopeSpans": [{"spans": [span]}]}]}
        connection = http.client.HTTPConnection("127.0.0.1", services["otlp_port"], timeout=30)
        connection.request("POST", "/v1/traces", json.dumps(traces), {"Content-Type": "application/json"})
        assert connection.getresponse().status == 200
        connection.close()
        reward.set(0.7)
        newest = "SELECT value FROM point WHERE name = 'rl_insight_monitor_reward_mean' ORDER BY ts DESC LIMIT 1"
        wait_until(lambda: server.query(newest) == [[0.7]])
        steps.inc(3)
        counted = "SELECT sum(value) FROM point WHERE name = 'rl_insight_monitor_train_step_total'"
        wait_until(lambda: server.query(counted) == [[3.0]])
        assert server.query("SELECT name, lane, part, step FROM span") == [["rollout", "trainer_0", "state", 10]]
        assert len(server.query("SELECT DISTINCT run FROM point UNION SELECT run FROM span")) == 1
    exporter.shutdown()
    exporter.server_close()
    thread.join()
