"""How clients fared: the state of each is decided in the model, and every form of the report shows that one."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.client_outcomes import client_outcomes
from kafkascope_analyzer.report.model.clients import clients
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render

ME = {"client_instance_id": "me", "client_id": "app", "client_ip": "10.0.0.101", "kind": "consumer", "conn_ids": ["c"]}
SERVED = {"protocol": "kafka", "close_kind": "open", "n_requests": 9, "n_responses": 8, "server_segments": 9}
NO_ANSWER = {**SERVED, "n_responses": 0}
REFUSED = {"protocol": "empty", "close_kind": "refused", "n_requests": 0, "n_responses": 0, "server_segments": 1}
ONE_WAY = {**NO_ANSWER, "server_segments": 0}
ENCRYPTED = {**NO_ANSWER, "protocol": "tls", "n_requests": 0}
INCIDENT = {"incident_id": "i", "kind": "listener", "severity": "error", "clients": ["me"], "sentence": "wrong"}
INCIDENT |= {"how_known": "", "hosts": [], "earlier_stalls": [], "evidence": []}


@pytest.fixture
def fared(dataset: Callable[..., Path], small: ModuleType) -> Callable[..., Dataset]:
    """A dataset of one client that has one connection and met these things."""

    def write(connection: dict[str, Any], **met: list[dict[str, Any]]) -> Dataset:
        place = dataset()
        kept = {"conn_id": "c", "client_ip": "10.0.0.101", "first_ns": small.at(0), "last_ns": small.at(9000)}
        small.write_table(place, small.TABLES["connections"], [{**kept, **connection}])
        small.write_table(place, small.TABLES["clients"], [{**ME, "first_ns": small.at(0), "last_ns": small.at(9000)}])
        for table in ("startups", "recoveries", "stalls", "incidents"):
            rows = [{"client_instance_id": "me", **row} if table != "incidents" else row for row in met.get(table, [])]
            times = {"incidents": "start_ns", "stalls": "from_ns"}.get(table, "start_ns")
            timed = [{times: small.at(100 + number), **row} for number, row in enumerate(rows)]
            small.write_table(place, small.TABLES[table], timed)
        return Dataset.open(place)

    return write


def start(outcome: str, number: int = 1) -> dict[str, Any]:
    return {"startup_id": f"me:{number}", "outcome": outcome, "start_no": number}


def recovery(outcome: str) -> dict[str, Any]:
    return {"recovery_id": f"r-{outcome}", "outcome": outcome, "resource_kind": "partition"}


def stall(small: ModuleType, *, served: bool | None, is_over: bool = True) -> dict[str, Any]:
    ends = {"to_ns": small.at(1600) if is_over else None, "served": served}
    return {"stall_id": "s", "kind": "produce", "waited_ms": 1500, **ends}


@pytest.mark.parametrize(
    ("connection", "met", "outcome", "trouble"),
    [
        (SERVED, {"startups": [start("ready")]}, "well", "none"),
        (SERVED, {"startups": [start("cut")]}, "well", "none"),
        (SERVED, {}, "well", "none"),
        (SERVED, {"startups": [start("gave_up")]}, "gave_up", "start ended before it was ready"),
        (SERVED, {"startups": [start("failed")]}, "gave_up", "start failed"),
        (SERVED, {"startups": [start("failed"), start("ready", 2)]}, "recovered", "start failed"),
        (SERVED, {"startups": [start("ready"), start("failed", 2)]}, "gave_up", "start failed"),
        (SERVED, {"recoveries": [recovery("recovered")]}, "recovered", "1 recovery"),
        (SERVED, {"recoveries": [recovery("served_elsewhere")]}, "recovered", "1 recovery, served elsewhere"),
        (SERVED, {"recoveries": [recovery("fatal"), recovery("recovered")]}, "gave_up", "2 recoveries, fatal"),
        (SERVED, {"recoveries": [recovery("client_ended")]}, "gave_up", "1 recovery, client ended first"),
        (SERVED, {"recoveries": [recovery("still_open")]}, "still_open", "1 recovery, still open"),
        (SERVED, {"incidents": [INCIDENT]}, "still_open", "affected by 1 incident"),
        (SERVED, {"incidents": [INCIDENT], "recoveries": [recovery("recovered")]}, "recovered", "1 recovery"),
        (SERVED, {"incidents": [{**INCIDENT, "clients": ["other"]}]}, "well", "none"),
        (SERVED, {"incidents": [{**INCIDENT, "severity": "info"}]}, "well", "none"),
        (NO_ANSWER, {}, "never_served", "never served"),
        (REFUSED, {"startups": [start("failed")]}, "never_served", "never served; start failed"),
        (ONE_WAY, {}, "unknown", "not known"),
        (ENCRYPTED, {}, "unknown", "not known"),
    ],
)
def test_the_worst_that_a_client_met_decides(
    fared: Callable[..., Dataset], connection: dict[str, Any], met: dict[str, Any], outcome: str, trouble: str
) -> None:
    dataset = fared(connection, **met)
    assert client_outcomes(dataset)["me"].outcome == outcome
    (client,) = clients(dataset).listed
    assert (client.outcome, client.trouble) == (outcome, trouble)


@pytest.mark.parametrize(
    ("served", "is_over", "outcome", "trouble"),
    [
        (True, True, "recovered", "stalled 1.50 s"),
        (False, True, "gave_up", "stalled 1.50 s, gave up or ended"),
        (None, False, "still_open", "stalled 1.50 s, still waiting"),
    ],
)
def test_a_stall_says_how_it_ended_in_every_form(
    fared: Callable[..., Dataset], small: ModuleType, served: bool | None, is_over: bool, outcome: str, trouble: str
) -> None:
    dataset = fared(SERVED, stalls=[stall(small, served=served, is_over=is_over)])
    model = report_model(dataset)
    (client,) = model.clients.listed
    assert (client.outcome, client.trouble) == (outcome, trouble)
    (wait,) = model.incidents.unassigned
    assert wait.outcome == {"recovered": "served"}.get(outcome, outcome)
    assert trouble in " ".join(page_of(render(model), 132, ascii_only=False).split())
