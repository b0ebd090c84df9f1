"""Series as the parser of Prometheus' client library reads them; their numbers are those of the brokers' log and of
what clients printed."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.export.grafana import PANELS

from .conftest import CAPTURES, exported


@pytest.fixture(scope="module")
def text(leader_move: Path) -> str:
    return exported("openmetrics", str(leader_move))


def parsed(text: str) -> dict[str, Any]:
    """The families as Prometheus' client library reads them, which refuses what the standard does not have. It reads
    one moment at a time, as a scrape gives it: of histograms it does not know several."""
    meta = [line for line in text.splitlines() if line.startswith("#")]
    moments: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        if not line.startswith("#"):
            moments[line.rpartition(" ")[2]].append(line)
    found: dict[str, Any] = {}
    for _, lines in sorted(moments.items()):
        there = {line.partition("{")[0] for line in lines}
        scrape = []
        for comment in meta[:-1]:
            scrape.append(comment)
            name = comment.split()[2]
            if comment.startswith("# HELP"):
                ends = ("", "_total", "_bucket", "_count", "_sum")
                own = {f"{name}{end}" for end in ends} & there
                scrape += [line for line in lines if line.partition("{")[0] in own]
        for family in text_string_to_metric_families("\n".join([*scrape, "# EOF", ""])):
            if family.name in found:
                found[family.name].samples.extend(family.samples)
            else:
                found[family.name] = family
    assert sum(len(family.samples) for family in found.values()) == len(text.splitlines()) - len(meta)
    return found


@pytest.fixture(scope="module")
def families(text: str) -> dict[str, Any]:
    return parsed(text)


def test_all_kinds_of_series_are_there(families: dict[str, Any]) -> None:
    assert {name.removeprefix("kafkascope_") for name in families} == {
        *("requests", "request_bytes", "errors", "unanswered_requests", "request_latency_seconds"),
        *("topic_records_written", "group_records_fetched", "group_lag_records"),
        *("stalls", "stalled_clients", "incidents"),
    }


def test_requests_are_those_of_the_brokers_log(families: dict[str, Any], log: list[dict[str, Any]]) -> None:
    last: dict[tuple[str, str, str], float] = {}
    for sample in families["kafkascope_requests"].samples:
        last[sample.labels["broker"], sample.labels["api"], sample.labels["client"]] = sample.value
    logged = Counter((str(line["node"]), line["client_id"]) for line in log if line["api"] == "PRODUCE")
    assert {(broker, client): n for (broker, api, client), n in last.items() if api == "Produce"} == logged


@pytest.mark.slow
def test_counters_never_fall_and_have_a_sample_at_every_step(families: dict[str, Any]) -> None:
    series = defaultdict(list)
    for sample in families["kafkascope_requests"].samples:
        series[tuple(sorted(sample.labels.items()))].append((sample.timestamp, sample.value))
    lengths = {len(points) for points in series.values()}
    assert lengths == {37}  # seconds that the capture touches, and the one before them
    for points in series.values():
        assert [time for time, _ in points] == sorted(time for time, _ in points)
        assert [value for _, value in points] == sorted(value for _, value in points)


def test_the_histogram_counts_the_latencies_of_the_brokers_log(
    families: dict[str, Any], log: list[dict[str, Any]]
) -> None:
    """The wire shows a little more than the log: below 0.1 s no more requests, and no fewer than a tenth less."""
    last: dict[tuple[str, str], float] = {}
    for sample in families["kafkascope_request_latency_seconds"].samples:
        if sample.name.endswith("_bucket") and sample.labels["api"] == "Produce" and sample.labels["broker"] == "2":
            last["bucket", sample.labels["le"]] = sample.value
    times = [line["total_ms"] for line in log if line["api"] == "PRODUCE" and line["node"] == 2]
    for le in ("0.1", "1.0", "10.0", "+Inf"):
        logged = sum(time <= float(le) * 1000 for time in times)
        assert 0.9 * logged <= last["bucket", le] <= logged


def test_lag_and_records_are_those_that_clients_printed(families: dict[str, Any]) -> None:
    truth = json.loads((CAPTURES / "leader_move.truth.json").read_text())
    fetched = {sample.labels["group"]: sample.value for sample in families["kafkascope_group_records_fetched"].samples}
    assert fetched == {client["group"]: client["closed"]["received"] for client in truth["clients"] if client["group"]}
    (written,) = {s.labels["topic"]: s.value for s in families["kafkascope_topic_records_written"].samples}.values()
    assert written == sum(client["closed"]["acked"] for client in truth["clients"])
    lag = {sample.labels["group"]: sample.value for sample in families["kafkascope_group_lag_records"].samples}
    assert set(lag.values()) == {0}


def test_an_incident_is_there_as_long_as_the_broker_was_killed(families: dict[str, Any]) -> None:
    """Node 3 is killed at 13 s and started again at 22 s, as the truth says."""
    truth = json.loads((CAPTURES / "leader_move.truth.json").read_text())
    killed = next(event["ts_ns"] for event in truth["events"] if "kill" in json.dumps(event).lower())
    going_on = [
        sample.timestamp
        for sample in families["kafkascope_incidents"].samples
        if sample.labels["kind"] == "broker_down" and sample.value
    ]
    assert abs(float(min(going_on)) - killed / 1e9) < 2
    assert 8 < float(max(going_on)) - float(min(going_on)) < 14


def test_names_of_strangers_cannot_end_a_line(small: ModuleType, tmp_path: Path) -> None:
    dataset = small.write_dataset(tmp_path / "small.kscope", text='"} 1\nevil{a="\\\u202e')
    found = list(parsed(exported("openmetrics", str(dataset))).values())
    assert {family.name.partition("_")[0] for family in found} == {"kafkascope"}
    texts = {text for family in found for sample in family.samples for text in sample.labels.values()}
    assert any("evil" in text and "\\u202e" in text for text in texts)


def test_the_step_can_be_chosen(leader_move: Path) -> None:
    found = parsed(exported("openmetrics", str(leader_move), "--step", "15")).values()
    times = {float(sample.timestamp) for family in found for sample in family.samples}
    assert all(time % 15 == 0 for time in times)
    result = CliRunner().invoke(app, ["export", "otlp", str(leader_move), "--step", "15"])
    assert (result.exit_code, "--step is for openmetrics and grafana" in result.stderr) == (2, True)


def test_the_dashboard_asks_for_series_that_are_there(leader_move: Path, families: dict[str, Any]) -> None:
    dashboard = json.loads(exported("grafana", str(leader_move)))
    names = {sample.name for family in families.values() for sample in family.samples}
    labels = {label for family in families.values() for sample in family.samples for label in sample.labels}
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) >= len(PANELS) == len(dashboard["panels"])
    for query in queries:
        assert set(re.findall(r"kafkascope_\w+", query)) <= names
        by = [label.strip() for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(",")]
        assert set(by) <= labels
    assert dashboard["time"] == {"from": "2026-11-21T04:28:34.000Z", "to": "2026-11-21T04:29:09.000Z"}
