"""Errors of real clients, recorded from real clusters: the client's events as Spark gives them, and when the brokers
logged the error for it (their request log: not read from packets)."""

import gzip
import json
import pathlib
from typing import Any

import pytest

from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_parsers.schema import api_name
from kafkascope_spark.stories.clients.machine import ClientStories
from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.library import Library
from kafkascope_spark.stories.libraries.librdkafka import LIBRDKAFKA
from kafkascope_spark.stories.stalls.stall import StallLimits

from .event_rows import event_row

RECORDED = sorted((pathlib.Path(__file__).parents[4] / "fixtures" / "recoveries").glob("*.json.gz"))
MS = 1_000_000


def load(path: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    found["events"] = [event_row({"client_ip": ""} | row) for row in found["events"]]
    return found


def stories(recorded: dict[str, Any]) -> dict[str, list[Any]]:
    machine = ClientStories(tuple(recorded["capture_ns"]), StallLimits(recorded["capture_ns"][1], 1_000_000_000))
    rows: dict[str, list[Any]] = {"recoveries": [], "recovery_steps": [], "clients": []}
    for row in (*machine.feed(recorded["events"]), *machine.finish()):
        if isinstance(row, StoryRow):
            rows.setdefault(row.TABLE.name, []).append(row)
    return rows


def test_the_ten_errors_that_clients_live_with_were_recorded() -> None:
    assert len({path.name.partition("-")[0] for path in RECORDED}) == 10


@pytest.mark.parametrize("path", RECORDED, ids=[path.name.partition(".")[0] for path in RECORDED])
def test_each_logged_error_is_in_an_episode_and_the_reaction_is_right(path: pathlib.Path) -> None:
    recorded = load(path)
    rows = stories(recorded)
    assert len(rows["clients"]) == 1
    mine = [row for row in rows["recoveries"] if recorded["error"] in row.error_names]
    ids = {row.recovery_id for row in mine}
    seen = [s.ts_ns for s in rows["recovery_steps"] if s.recovery_id in ids and s.error_name]
    for logged_ms in recorded["broker_log_ms"]:
        assert min(abs(at - logged_ms * MS) for at in seen) < 100 * MS
    assert recorded["outcome"] in {row.outcome for row in mine}
    if "broker_log_well_ms" in recorded:
        (row,) = mine
        assert (row.first_error_name, row.n_errors) == (recorded["error"], len(recorded["broker_log_ms"]))
        assert abs(row.recovered_ns - recorded["broker_log_well_ms"] * MS) < 100 * MS
    assert {row.outcome for row in rows["recoveries"]} & {"wrong_reaction"} == set()
    for row in mine:
        if row.recovered_ns is not None:
            lost = sum(row.lost_us.values())
            assert abs(lost - (row.recovered_ns - row.start_ns) // 1000) <= 4


@pytest.mark.parametrize(
    ("library", "errors"),
    [
        (JAVA, {"NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", "UNKNOWN_MEMBER_ID"}),
        (LIBRDKAFKA, {"OFFSET_OUT_OF_RANGE", "NOT_COORDINATOR", "UNKNOWN_MEMBER_ID"}),
    ],
)
def test_clients_take_the_steps_that_their_library_names(library: Library, errors: set[str]) -> None:
    """errors: those of which the recordings show such a step."""
    found = set()
    for path in RECORDED:
        if not path.name.endswith(f"-{library.name}.json.gz"):
            continue
        for row in stories(load(path))["recoveries"]:
            api = "" if row.first_api_key is None else api_name(row.first_api_key)
            reaction = library.reactions.get(api, {}).get(row.first_error_name)
            if reaction is not None and row.outcome == "recovered" and reaction.first & {*row.reaction.split(", ")}:
                found.add(row.first_error_name)
    assert found == errors
