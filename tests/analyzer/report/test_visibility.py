"""What a report says of a capture that shows too little of its clients to say that nothing failed."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.markdown.report import to_markdown
from kafkascope_analyzer.report.model.clients import roles_of_connections
from kafkascope_analyzer.report.model.incidents.preconditions import why_no_kafka
from kafkascope_analyzer.report.model.incidents.visibility import why_in_doubt
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render

READ = {"client_bytes": 1000, "server_bytes": 1000, "undecoded_bytes": 0}
TLS = {"protocol": "tls", "server_ip": "10.0.0.11"}
DOUBTS = {
    "half of the bytes decode": ([READ | {"undecoded_bytes": 1000}], None),
    "fewer do": ([READ | {"undecoded_bytes": 1001}], "only 49.9 % of 2.0 kB of the streams decoded"),
    "most are missing": (
        [READ | {"missing_bytes": 3000}],
        "only 40.0 % of 5.0 kB of the streams decoded, and 3.0 kB are missing from the capture",
    ),
    "one client is encrypted": (
        [READ, TLS],
        "1 of 2 connections to brokers are encrypted, and their keys are not known",
    ),
    "all are encrypted": (
        [TLS | {"claimed_requests": 12, "client_bytes": 500, "server_bytes": 500, "undecoded_bytes": 1000}],
        "only 0 % of 1.0 kB of the streams decoded; "
        "1 of 1 connection to brokers are encrypted, and their keys are not known",
    ),
    "TLS with a server that is no broker": ([READ, TLS | {"server_ip": "10.0.0.99"}], None),
    "half of the connections show one direction": ([READ, READ | {"server_segments": 0}], None),
    "most do": (
        [READ, READ | {"server_segments": 0}, READ | {"client_segments": 0}],
        "2 of 3 connections show one direction only",
    ),
    "a refused connection has one direction": ([READ | {"client_segments": 0, "close_kind": "refused"}], None),
}


@pytest.fixture
def calm_with(dataset: Callable[..., Path], small: ModuleType) -> Callable[..., Path]:
    """Writes a dataset in which nothing failed, with connections that differ from the usual ones in this."""

    def write(*differences: dict[str, Any]) -> Path:
        place = dataset()
        for name in ("incidents", "stalls", "startups", "findings"):
            small.write_table(place, small.TABLES[name], [])
        rows = [small.connection(f"c{n}", 40000 + n, 1, n) | more for n, more in enumerate(differences)]
        small.write_table(place, small.TABLES["connections"], rows)
        return place

    return write


@pytest.mark.parametrize("case", DOUBTS)
def test_a_verdict_is_unknown_where_the_capture_shows_too_little(calm_with: Callable[..., Path], case: str) -> None:
    rows, doubt = DOUBTS[case]
    place = Dataset.open(calm_with(*rows))
    model = report_model(place)
    assert why_in_doubt(place) == doubt
    assert (model.headline.verdict, model.headline.doubt) == ("unknown" if doubt else "none", doubt)
    pages = (page_of(render(model), 200, ascii_only=False), to_markdown(model))
    for page in pages:
        text = " ".join(page.split())
        assert (f"Whether anything failed is unknown: {doubt}." in text) == (doubt is not None)
        assert ("Nothing failed" in text) == ("clients stalled" in text) == (doubt is None)


def test_frames_that_a_client_did_not_take_to_their_end_are_no_doubt(
    calm_with: Callable[..., Path], small: ModuleType
) -> None:
    """What they were is known, however large they are (https://github.com/confluentinc/librdkafka/issues/4915)."""
    place = calm_with(READ | {"undecoded_bytes": 1900})
    cut_off = {"conn_id": "c0", "ts_ns": 1, "packet_no": 1, "direction": "response", "stream_offset": 0, "bytes": 1900}
    small.write_table(place, small.TABLES["undecoded"], [cut_off | {"reason": "connection_end"}])
    assert why_in_doubt(Dataset.open(place)) is None
    small.write_table(place, small.TABLES["undecoded"], [cut_off | {"reason": "malformed_body"}])
    assert why_in_doubt(Dataset.open(place)) == "only 5.0 % of 2.0 kB of the streams decoded"


def test_where_something_failed_the_doubt_is_the_second_sentence(
    calm_with: Callable[..., Path], small: ModuleType
) -> None:
    place = calm_with(READ, TLS)
    start = {"startup_id": "g1:1", "client_instance_id": "g1", "outcome": "failed", "failed_step": "join_group"}
    small.write_table(place, small.TABLES["startups"], [start])
    headline = report_model(Dataset.open(place)).headline
    assert (headline.verdict, headline.sentence) == ("error", "1 start failed: reader at join group.")
    assert headline.details == (
        "Whether more failed is unknown: 1 of 2 connections to brokers are encrypted, and their keys are not known.",
    )


@pytest.mark.slow
def test_who_started_in_vain_was_not_served(calm_with: Callable[..., Path], small: ModuleType) -> None:
    place = calm_with(READ)
    moved = small.incident_rows("")["incidents"][-1] | {"root_incident_id": None, "severity": "info", "longest_ms": 0}
    small.write_table(place, small.TABLES["incidents"], [moved])
    assert report_model(Dataset.open(place)).incidents.routine_text.endswith(" Everybody was served within 1 s.")
    start = {"startup_id": "g1:1", "client_instance_id": "g1", "outcome": "failed", "failed_step": "join_group"}
    small.write_table(place, small.TABLES["startups"], [start | {"start_ns": moved["start_ns"]}])
    text = report_model(Dataset.open(place)).incidents.routine_text
    assert text.endswith(" Nobody stalled for 1 s or longer because of it.")


def test_an_encrypted_cluster_is_shown_as_a_plain_one(calm_with: Callable[..., Path], small: ModuleType) -> None:
    place = calm_with(TLS | {"claimed_requests": 12, "claimed_job": "produce", "node_id": None, "server_port": 9093})
    small.write_table(place, small.TABLES["roles"], [])
    model = report_model(Dataset.open(place))
    assert [server.address for server in model.cluster.servers_without_node_id] == ["10.0.0.11:9093"]
    assert why_no_kafka(Dataset.open(place)) is None
    (role,) = roles_of_connections(Dataset.open(place), ["c0"])["c0"]
    assert (role.role, role.verdict, role.n_requests) == ("partition_leader", "claimed", 12)


def test_tls_of_which_no_request_is_known_is_no_kafka(calm_with: Callable[..., Path]) -> None:
    assert why_no_kafka(Dataset.open(calm_with(TLS | {"claimed_requests": None}))) == (
        "no Kafka could be read: 1 of 1 TCP connection are encrypted with TLS, none shows Kafka"
    )
