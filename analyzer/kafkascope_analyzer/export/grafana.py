"""A Grafana dashboard for the series that `openmetrics` writes: JSON to import, with the capture's time range."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.report.formatting import safe

SCHEMA_VERSION = 39
"""The dashboard schema of Grafana 10 and 11, which later releases read too."""
SHARED_CROSSHAIR = 1
_RATE = "[$__rate_interval]"
_LATENCY = f'sum by (le, broker) (rate(kafkascope_request_latency_seconds_bucket{{api=~"$api"}}{_RATE}))'
_BROKER = "broker {{broker}}"
_GROUP = "{{group}}, {{topic}}"
_LONG_POLL = "A Fetch that finds no records waits for some: choose Produce, or another API, above."


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart over time. queries: PromQL with the legend of its lines, in which Grafana fills in the labels."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    description: str = ""


PANELS = (
    Panel(
        "Requests a second by broker",
        "reqps",
        ((f'sum by (broker) (rate(kafkascope_requests_total{{api=~"$api"}}{_RATE}))', _BROKER),),
    ),
    Panel("Latency by broker, median", "s", ((f"histogram_quantile(0.5, {_LATENCY})", _BROKER),), _LONG_POLL),
    Panel("Latency by broker, 99th percentile", "s", ((f"histogram_quantile(0.99, {_LATENCY})", _BROKER),), _LONG_POLL),
    Panel(
        "Errors a second",
        "short",
        ((f"sum by (error, broker) (rate(kafkascope_errors_total{_RATE}))", f"{{{{error}}}}, {_BROKER}"),),
    ),
    Panel(
        "Requests that were never answered",
        "short",
        (
            (
                f"sum by (broker, api) (increase(kafkascope_unanswered_requests_total{_RATE}))",
                f"{{{{api}}}}, {_BROKER}",
            ),
        ),
    ),
    Panel(
        "Bytes a second by client",
        "Bps",
        ((f"topk(10, sum by (client) (rate(kafkascope_request_bytes_total{_RATE})))", "{{client}}"),),
    ),
    Panel(
        "Records written a second by topic",
        "short",
        ((f"sum by (topic) (rate(kafkascope_topic_records_written_total{_RATE}))", "{{topic}}"),),
    ),
    Panel(
        "Records fetched a second by group",
        "short",
        ((f"sum by (group, topic) (rate(kafkascope_group_records_fetched_total{_RATE}))", _GROUP),),
    ),
    Panel("Lag by group", "short", (("sum by (group, topic) (kafkascope_group_lag_records)", _GROUP),)),
    Panel(
        "Stalls that go on",
        "short",
        (("sum by (kind) (kafkascope_stalls)", "{{kind}}"), ("sum(kafkascope_stalled_clients)", "clients that wait")),
    ),
    Panel(
        "Incidents that go on",
        "short",
        (("sum by (kind, subject, severity) (kafkascope_incidents)", "{{kind}}: {{subject}} ({{severity}})"),),
    ),
)


def grafana(dataset: Dataset, step: int) -> str:
    """Returns the dashboard as JSON. step: seconds between two samples of the series; without it, Grafana would compute
    rates over some scrape intervals of the data source, longer than the capture or shorter than a step. Raises
    UsageError."""
    begin, end = capture_span(dataset)
    source = {"type": "prometheus", "uid": "${datasource}"}
    dashboard: dict[str, Any] = {
        "title": f"kafkascope: {safe(dataset.name)}",
        "editable": True,
        "schemaVersion": SCHEMA_VERSION,
        "timezone": "utc",
        "graphTooltip": SHARED_CROSSHAIR,
        "time": {"from": _moment(begin), "to": _moment(end)},
        "templating": {"list": [_data_source(), _apis(source)]},
        "panels": [_panel(number, panel, source, step) for number, panel in enumerate(PANELS)],
    }
    return json.dumps(dashboard, indent=2, ensure_ascii=True) + "\n"


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _apis(source: dict[str, str]) -> dict[str, Any]:
    query = "label_values(kafkascope_requests_total, api)"
    every = {"text": "All", "value": "$__all"}
    return {"name": "api", "label": "API", "type": "query", "datasource": source, "query": query, "refresh": 2} | {
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": every,
    }


def _panel(number: int, panel: Panel, source: dict[str, str], step: int) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + n), "expr": query, "legendFormat": legend, "datasource": source, "range": True}
        | {"interval": f"{step}s"}
        for n, (query, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": source,
        "gridPos": {"x": number % 2 * 12, "y": number // 2 * 8, "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": targets,
    }
