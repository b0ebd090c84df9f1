"""Who waited on encrypted connections, from states written by hand; the connections of a dataset of a recording."""

from collections.abc import Callable, Collection
from pathlib import Path

import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.hosts.encrypted_hosts import give_encrypted_hosts
from kafkascope_spark.stories.incidents.rows.incident_rows import severity_of
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.servers.table import StateName

from .conftest import NS, MakeStall, MakeState

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"


STATES: list[tuple[StateName, int, int]] = [("serving", 0, 10), ("frozen", 10, 22), ("serving", 22, 60)]


def frozen(state: MakeState, *encrypted: int) -> tuple[list[Failure], Collection[str]]:
    """The failure of a broker that was frozen for two hosts from 10 s to 22 s; encrypted: hosts that cannot be
    heard."""
    rows = [state(1, host, *each) for host in (21, 22) for each in STATES]
    failures = broker_failures(rows)
    asked: list[str] = []

    def ask(servers: Collection[str]) -> set[tuple[str, str]]:
        asked.extend(servers)
        return {(f"10.0.0.{host}", rows[0].server) for host in encrypted}

    give_encrypted_hosts(failures, ask)
    return failures, asked


def test_how_long_hosts_waited_that_cannot_be_heard_is_what_is_known(state: MakeState) -> None:
    (failure,), asked = frozen(state, 21)
    assert asked == [failure.server]
    assert (failure.encrypted_hosts, failure.waited_ms, severity_of(failure)) == ({"10.0.0.21"}, 12_000, "error")
    sentence = sentence_of(failure, 22 * NS, 0)
    assert "1 host waited for it, for 12.0 s at the longest; their requests are encrypted" in sentence


def test_beside_clients_that_stalled_they_are_named(state: MakeState, stall: MakeStall) -> None:
    (failure,), _ = frozen(state, 21)
    failure.stalls.append(stall("produce", 22, 1, 10, 22))
    sentence = sentence_of(failure, 22 * NS, 0)
    assert "client-22 stalled" in sentence
    assert "What 1 host waited for is encrypted: which clients stalled there is not known." in sentence


def test_where_all_can_be_heard_nothing_is_said(state: MakeState) -> None:
    (failure,), _ = frozen(state)
    assert (failure.encrypted_hosts, failure.waited_ms, severity_of(failure)) == (frozenset(), 0, "info")
    assert "No client stalled because of it." in sentence_of(failure, 22 * NS, 0)


def test_encrypted_are_hosts_all_of_whose_connections_are(ingested: Callable[..., Path]) -> None:
    path = ingested(PIECES / "tls_hellos.pcap.zst")
    rows = pq.read_table(path / "connections").to_pylist()
    spoken: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        pair = row["client_ip"], f"{row['server_ip']}:{row['server_port']}"
        spoken.setdefault(pair, set()).add(row["protocol"])
    expected = {pair for pair, protocols in spoken.items() if "tls" in protocols and "kafka" not in protocols}
    assert expected
    assert Packets(Dataset.open(path)).encrypted({server for _, server in spoken}) == expected
