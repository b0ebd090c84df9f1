"""The rows from which incidents are made: of clients only those that other rows name, or that died."""

from kafkascope_spark.stories.incidents.observations import Observations
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient

from .conftest import MakeStall, MakeState, row_of


def client(name: str | None, died_ns: int | None = None) -> AffectedClient:
    return row_of(AffectedClient, client_instance_id=name, client_id=name, died_ns=died_ns)


def test_rows_are_kept_by_what_they_are_about(state: MakeState, stall: MakeStall) -> None:
    observed = Observations()
    states, waited = [state(1, 21, "serving", 0, 5), state(2, 21, "silent", 5, 9)], stall("produce", 21, 1, 5, 8)
    for row in (states[0], waited, states[1]):
        observed.take(row)
    assert observed.states == states
    assert observed.stalls == [waited]
    assert observed.recoveries == []


def test_clients_are_kept_that_stalled_or_died(stall: MakeStall) -> None:
    observed = Observations()
    stalled = stall("produce", 21, 1, 5, 8)
    for row in (stalled, client(stalled.client_instance_id), client("died", died_ns=7), client("served")):
        observed.take(row)
    assert set(observed.clients) == {stalled.client_instance_id, "died"}
