"""A broker whose link is cut for 17 s, as two recorded clients met it, against when the lab cut it and put it back."""

import gzip
import json
import pathlib
from typing import Any

import pytest

from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_spark.stories.clients.machine import ClientStories
from kafkascope_spark.stories.stalls.stall import StallLimits

from .event_rows import event_row

SILENT = pathlib.Path(__file__).parents[4] / "fixtures" / "recoveries" / "silent"
MS, SECOND = 1_000_000, 1_000_000_000


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((SILENT / f"{name}-java.json.gz").read_bytes()))
    return found


def stories(recorded: dict[str, Any]) -> dict[str, list[Any]]:
    machine = ClientStories(tuple(recorded["capture_ns"]), StallLimits(recorded["capture_ns"][1], 1_000_000_000))
    rows: dict[str, list[Any]] = {}
    for row in (*machine.feed(event_row(row) for row in recorded["events"]), *machine.finish()):
        if isinstance(row, StoryRow):
            rows.setdefault(row.TABLE.name, []).append(row)
    return rows


@pytest.mark.parametrize("name", ["consumer", "producer"])
def test_one_process_is_one_client_though_its_requests_left_late(name: str) -> None:
    (client,) = stories(load(name))["clients"]
    assert client.kind == name


@pytest.mark.parametrize("name", ["consumer", "producer"])
def test_the_silence_begins_when_the_link_is_cut(name: str) -> None:
    """The client sends some requests a second, and a Fetch may have waited for half a second by then."""
    recorded = load(name)
    rows = [
        row
        for row in stories(recorded)["recoveries"]
        if row.resource_kind == "connection" and row.old_node_id == recorded["node_id"]
    ]
    assert abs(min(row.failing_ns for row in rows) - recorded["link_down_ns"]) < 500 * MS


def test_the_consumer_waits_until_the_link_is_back_and_finds_its_new_coordinator() -> None:
    recorded = load("consumer")
    by_error = {row.first_error_name: row for row in stories(recorded)["recoveries"]}
    silence, moved = by_error["RESPONSE_LATE"], by_error["NOT_COORDINATOR"]
    assert silence.outcome == moved.outcome == "recovered"
    assert recorded["link_up_ns"] < silence.recovered_ns < recorded["link_up_ns"] + 15 * SECOND
    assert (moved.old_node_id, moved.new_node_id == recorded["node_id"]) == (recorded["node_id"], False)
