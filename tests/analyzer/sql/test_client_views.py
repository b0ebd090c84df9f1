"""Views and macros about clients, on captures of which the truth is known otherwise: settings that clients were started
with, racks that they were given, passwords that they had wrong."""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import question
from kafkascope_parsers.errors import UsageError

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "fixtures" / "captures"
PIECES = CAPTURES / "pieces"
SERVICE = ROOT / "fixtures" / "service"


def asked(dataset: Path, statement: str) -> list[dict[str, Any]]:
    with Database(Dataset.open(dataset)) as database:
        names, rows = database.query(statement)
        return [dict(zip(names, row, strict=True)) for row in rows]


def saved(dataset: Path, name: str) -> list[dict[str, Any]]:
    return asked(dataset, question(name).text)


@pytest.fixture(scope="module")
def racks(ingested: Callable[..., Path]) -> Path:
    """Consumers with client.rack, of a cluster whose leaders send them to replicas (KIP-392)."""
    return ingested(PIECES / "follower_fetch_start.pcap.zst")


@pytest.fixture(scope="module")
def lingering(ingested: Callable[..., Path]) -> Path:
    """A librdkafka producer with linger.ms=1500."""
    return ingested(SERVICE / "lingering_producer.pcap.zst")


def test_consumers_read_in_the_rack_that_they_were_given(racks: Path) -> None:
    """The capture's table in fixtures/captures/README.md says which racks the consumers were given."""
    rows = {(row["client_id"], row["rack"]): row for row in saved(racks, "rack-readers")}
    assert {rack for _, rack in rows} == {"rack-a", "rack-c", "no-such-rack"}
    for (_, rack), row in rows.items():
        outside = rack == "no-such-rack"
        assert row["what"] == ("no broker is in that rack" if outside else "reads inside its rack")
        assert (row["bytes_outside"] > 0, row["bytes_inside"] > 0) == (outside, not outside)
        assert (row["n_sent_to_replica"] > 0) == (not outside)


def test_a_rack_that_is_not_known_is_neither_crossed_nor_not(racks: Path, lingering: Path) -> None:
    """Brokers and consumers of one capture were given racks; the producer of the other one was given none."""
    statement = "select client_rack, broker_rack, is_cross_rack from rack_traffic"
    known, unknown = asked(racks, statement), asked(lingering, statement)
    assert {row["is_cross_rack"] for row in known} <= {True, False}
    assert {row["client_rack"] for row in unknown} == {row["is_cross_rack"] for row in unknown} == {None}


def test_linger_is_inferred_from_the_records_of_a_batch(lingering: Path) -> None:
    with pytest.raises(UsageError, match="has no table stories/clients: `kafkascope stories"):
        asked(lingering, "from client_settings")


LATE_MS = 3000
"""By how much later than it was sent a broker logs a request, while another is down."""


def gaps_ms(client_id: str, api: str) -> list[int]:
    """The times between requests of a client on one connection, as the brokers logged them when they had answered; of
    Metadata, on any."""
    at: dict[str, list[int]] = defaultdict(list)
    with gzip.open(CAPTURES / "leader_move.requests.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            if (line["client_id"], line["api"]) == (client_id, api):
                at["" if api == "METADATA" else line["remote"]].append(line["ts_ms"])
    return [b - a for times in at.values() for a, b in pairwise(sorted(times))]


def test_intervals_are_those_between_requests(told_leader_move: Path) -> None:
    """Nobody was given other intervals than the libraries' own: a heartbeat each 3 s, a commit each 5 s."""
    rows = {(row["client_id"], row["what"]): row for row in asked(told_leader_move, "from client_settings")}
    for client_id in ("order-api-5", "svc-a-4", "svc-b-6"):
        for what, api, ms in (("heartbeat_interval", "HEARTBEAT", 3000), ("commit_interval", "OFFSET_COMMIT", 5000)):
            assert rows[client_id, what]["setting_value"] == f"about {ms}"
            assert median(gaps_ms(client_id, api)) == pytest.approx(ms, rel=0.02)
    for (client_id, what), row in rows.items():
        if what == "metadata_age":
            at_least = int(row["setting_value"].removeprefix("at least "))
            assert at_least == pytest.approx(max(gaps_ms(client_id, "METADATA")), abs=LATE_MS)
            assert at_least < 300_000, "the least of the libraries' own ages"


def test_the_same_linger_gives_the_same_requests(lingering: Path) -> None:
    (row,) = asked(lingering, "from what_if_linger(1500, batch_size := 1000000)")
    assert row["n_requests_then"] == pytest.approx(row["n_requests"], rel=0.06)
    (shorter,) = asked(lingering, "from what_if_linger(100)")
    (longer,) = asked(lingering, "from what_if_linger(6000)")
    assert shorter["n_requests_then"] > row["n_requests_then"] > longer["n_requests_then"]
    assert shorter["n_records"] == longer["n_records"]
    assert shorter["mean_wait_then_ms"] < 100 < longer["mean_wait_then_ms"] < 6000


def test_a_linger_of_a_second_puts_a_seconds_records_into_a_request(ingested: Callable[..., Path]) -> None:
    """Three producers of seven records a second each, to three brokers, for 32 s, as their truth says."""
    real = ingested(ROOT / "fixtures" / "captures" / "leader_move.pcap.zst")
    truth = json.loads((ROOT / "fixtures" / "captures" / "leader_move.truth.json").read_text())
    rows = asked(real, "from what_if_linger(1000)")
    producers = [client for client in truth["clients"] if client["kind"] == "producer"]
    assert {row["client_id"] for row in rows} == {client["client_id"] for client in producers}
    for row in rows:
        assert row["n_requests"] > 200
        assert 32 <= row["n_requests_then"] <= 3 * 34


def test_a_batch_that_is_full_does_not_wait(lingering: Path) -> None:
    (small,) = asked(lingering, "from what_if_linger(1500, batch_size := 200)")
    (large,) = asked(lingering, "from what_if_linger(1500, batch_size := 1000000)")
    assert small["n_requests_then"] > 2 * large["n_requests_then"]
    assert small["batch_bytes_then"] <= 200


def test_logins_that_failed_and_passwords_in_plain_text(ingested: Callable[..., Path]) -> None:
    users = ingested(PIECES / "sasl_users.pcap.zst")
    truth = json.loads((PIECES / "sasl_users.truth.json").read_text())
    rows = saved(users, "security-posture")
    mechanisms = {row["sasl_mechanism"] for row in rows}
    assert {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} <= mechanisms
    assert sum(row["n_failed_logins"] for row in rows) > 0
    for row in rows:
        assert ("so can the password" in row["weak"]) == (row["sasl_mechanism"] == "PLAIN")
        assert ("nobody has to log in" in row["weak"]) == (row["sasl_mechanism"] is None)
    assert "alice-secret" not in json.dumps(rows, default=str)
    assert truth


def test_messages_that_the_dataset_lacks_have_no_rows_in_views(lingering: Path) -> None:
    """A producer sends no Fetch: the view that reads its racks is there all the same."""
    assert asked(lingering, "from client_racks") == []
    with pytest.raises(UsageError, match="Fetch_request"):
        asked(lingering, "from messages.Fetch_request")
