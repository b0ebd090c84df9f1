"""Throttled connections, against the times by which Kafka's `Selector` mutes a channel (KIP-219)."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.scan.exchanges import SETTLED_SCHEMA
from kafkascope_analyzer.scan.muted_connections import MutedConnections
from kafkascope_analyzer.scan.saved_state import load_state, save_state

PIECES = Path(__file__).parents[3] / "fixtures" / "captures" / "pieces"
MS = 1_000_000


def settled(*rows: tuple[int, int, int, int | None, int | None, int | None]) -> pa.Table:
    """Completed requests: connection, number, when sent and answered, throttle time and time queued, in ms."""
    found = []
    for conn, number, sent, answered, throttle, queued in rows:
        times = {"request_last_ns": sent, "response_ns": answered, "queued_ns": queued}
        ns = {name: None if value is None else value * MS for name, value in times.items()}
        found.append({"conn": conn, "number": number, "throttle_ms": throttle} | ns)
    return pa.Table.from_pylist(found, SETTLED_SCHEMA)


def queued_ms(rows: pa.Table) -> list[int | None]:
    return [None if value is None else value // MS for value in rows["queued_ns"].to_pylist()]


def test_a_request_waits_for_the_end_of_the_throttle_time() -> None:
    """The second one is read when the connection is no longer muted; the third waits for its response, and for the
    throttle time in it; another connection of the client goes on."""
    rows = settled(
        (4, 0, 100, 105, 1000, 0), (4, 1, 106, 1106, 300, 0), (4, 2, 107, 1410, 0, 999), (5, 0, 110, 112, 0, 0)
    )
    assert queued_ms(MutedConnections().with_muted_time(rows)) == [0, 999, 1299, 0]


def test_brokers_before_2_0_held_the_response_back_and_muted_nothing() -> None:
    rows = settled((0, 0, 100, 1100, 1000, 0), (0, 1, 1101, 1104, 0, 0))
    assert queued_ms(MutedConnections().with_muted_time(rows)) == [0, 0]


def test_connections_stay_muted_over_blocks_and_saved_states(tmp_path: Path) -> None:
    muted = MutedConnections()
    untouched = settled((0, 0, 1, 2, None, 0))
    assert muted.with_muted_time(untouched) is untouched
    muted.with_muted_time(settled((2, 0, 100, 105, 5000, 0)))
    save_state(tmp_path / "state", muted)
    again = load_state(tmp_path / "state")
    late = settled((2, 1, 1105, 5106, 0, 0), (7, 0, 1200, 1201, 0, 0), (2, 2, 1300, None, None, None))
    assert queued_ms(again.with_muted_time(late)) == [4000, 0, 3805]
    assert queued_ms(again.with_muted_time(settled((7, 1, 9000, None, None, None)))) == [None]


@pytest.mark.slow
def test_a_broker_that_throttles_works_at_once(tmp_path: Path) -> None:
    """A cluster whose clients were throttled by quotas: each response but those that wait for records or members was
    made within a tenth of a second, though requests took up to ten seconds."""
    ingest([PIECES / "throttled_clients.pcap.zst"], tmp_path / "x.kscope")
    files = sorted((tmp_path / "x.kscope" / "requests").rglob("*.parquet"))
    columns = ["api_name", "latency_us", "broker_us"]
    rows = pa.concat_tables(pq.ParquetFile(file).read(columns) for file in files).to_pylist()
    prompt = [row for row in rows if row["api_name"] in ("Produce", "Metadata") and row["latency_us"] is not None]
    assert max(row["latency_us"] for row in prompt) > 10_000_000
    assert max(row["broker_us"] for row in prompt) < 100_000
