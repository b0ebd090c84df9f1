"""When brokers' processes ended and started: of a real broker, against what the lab did; and of made heartbeats."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.conftest import MakeState

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.brokers.restarted_brokers import restarted_brokers
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.packets.broker_processes import Heartbeats, ProcessRestart, broker_processes
from kafkascope_spark.stories.servers.table import BrokerState

pytestmark = pytest.mark.spark

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
S = 1_000_000_000


def beats(*sent: tuple[int, bool]) -> Heartbeats:
    return Heartbeats(np.array([ts_ns for ts_ns, _ in sent], np.int64), np.array([asks for _, asks in sent], np.bool_))


def test_a_restart_that_no_client_sees_is_told_with_its_times(dataset_of: Callable[..., Path]) -> None:
    """The capture has one broker's connections to the controller, and no client of it."""
    events = json.loads((PIECES / "quiet_restart.truth.json").read_text())["events"]
    at = {event["kind"]: event["ts_ns"] for event in events}
    folder = dataset_of("quiet_restart")
    (restart,) = broker_processes(Dataset.open(folder)).restarts
    assert restart.asked_ns is not None
    assert 0 <= restart.asked_ns - at["broker_stopping"] < S // 2
    assert restart.ended_ns < restart.gone_ns < at["broker_down"] + S // 2
    assert at["broker_starting"] < restart.back_ns < restart.registered_ns
    (incident,) = pq.read_table(folder / "stories" / "incidents").to_pylist()
    assert (incident["kind"], incident["node_id"], incident["severity"]) == ("broker_restarted", 102, "info")
    assert incident["fault_start_after_ns"] < at["broker_stopping"] < incident["fault_start_ns"]
    assert incident["fault_end_after_ns"] < at["broker_starting"] < incident["fault_end_ns"]
    assert restart.registration in incident["evidence"]
    (row,) = pq.read_table(folder / "stories" / "broker_restarts").to_pylist()
    assert (row["incident_id"], row["back_ns"]) == (incident["incident_id"], restart.back_ns)


def test_a_restart_that_hosts_saw_is_not_told_twice(dataset_of: Callable[..., Path]) -> None:
    processes = broker_processes(Dataset.open(dataset_of("quiet_restart")))
    (failure,) = restarted_brokers(processes.restarts, [], [])
    assert list(restarted_brokers(processes.restarts, [failure], [])) == []
    (restart,) = processes.restarts
    seen = BrokerState(
        None, restart.address, 29092, "10.88.3.101", "client", "down", None, 1, 2, 1, 1, 1, 2, None, None, 1, (), ()
    )
    failure.node_id, failure.states = None, [seen]
    assert list(restarted_brokers(processes.restarts, [failure], [])) == []


def test_a_broker_asks_until_it_is_let_go_or_thinks_better_of_it() -> None:
    asks = beats((1, False), (3, True), (4, True), (9, False), (11, True))
    assert asks.asked_before(0) is None
    assert asks.asked_before(2) is None
    assert asks.asked_before(4) == 3
    assert asks.asked_before(10) is None
    assert asks.asked_before(12) == 11
    assert (asks.before(0), asks.before(8)) == (None, 4)


def test_an_outage_that_several_restarts_made_says_how_often_the_process_began(state: MakeState) -> None:
    """No client was served between the first two; the third came when nobody waited any more."""
    begun = (12, 16, 30)
    restarts = [
        ProcessRestart(1, "10.0.0.1", None, s - 3, s - 2, s - 2, s - 1, s, "r") for s in (at * S for at in begun)
    ]
    (failure,) = broker_failures(
        [state(1, 21, "serving", 0, 9), state(1, 21, "down", 9, 20), state(1, 21, "serving", 20, 60)]
    )
    (alone,) = restarted_brokers(restarts, [failure], [])
    assert [restart.registered_ns for restart in failure.process.starts] == [12 * S, 16 * S]
    assert alone.process.restart == restarts[2]
    said = failure.kind.sentence(failure, Times(0))
    assert "its process began 2 times: it registered with the controller at 00:12.000, 00:16.000" in said
    del failure.process.starts[1:]
    assert "began" not in failure.kind.sentence(failure, Times(0))
