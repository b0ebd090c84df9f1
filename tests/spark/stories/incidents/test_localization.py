"""How sure a place is, and what else it may be, by who was served meanwhile; states and requests made by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_spark.stories.incidents.brokers.broker_failures import broker_failures
from kafkascope_spark.stories.incidents.extent.localization import localize
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.hosts.client_hosts import unreachable_hosts
from kafkascope_spark.stories.incidents.packets import meanwhile as meanwhile_module
from kafkascope_spark.stories.incidents.packets.contrast import MOST, Contrast, Question, contrasts
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.servers.table import BrokerState

from .conftest import NS, MakeState

Told = tuple[str | None, list[str]]


def seen(state: MakeState, name: str, *hosts: int, node: int = 2) -> list[BrokerState]:
    """A broker looked so to these hosts from 5 to 20 s."""
    rows: list[BrokerState] = []
    for host in hosts:
        rows += [state(node, host, "serving", 0, 5), state(node, host, name, 5, 20)]
        rows.append(state(node, host, "serving", 20, 50))
    return rows


def told(failure: Failure, contrast: Contrast) -> Told:
    localize([failure], failure.states, lambda questions: [contrast for _ in questions])
    return failure.confidence, [alternative.place for alternative in failure.alternatives]


ELSEWHERE = Contrast(servers_beside={"1", "3"})


@pytest.mark.parametrize(
    ("name", "hosts", "contrast", "expected"),
    [
        ("silent", (21, 22), ELSEWHERE, ("confirmed", [])),
        ("silent", (21,), ELSEWHERE, ("likely", ["path"])),
        ("silent", (21, 22), Contrast(), ("likely", ["client_host"])),
        ("silent", (21,), Contrast(), ("possible", ["path", "client_host"])),
        ("down", (21,), Contrast(), ("likely", ["path"])),
        ("frozen", (21,), Contrast(), ("confirmed", [])),
    ],
)
def test_a_broker_is_sure_where_several_hosts_show_it_and_others_served_these(
    state: MakeState, name: str, hosts: tuple[int, ...], contrast: Contrast, expected: Told
) -> None:
    """A frozen broker's kernel responds: the path works, and so does the host. That of a broker that is down resets
    connections, unless a firewall does."""
    (failure,) = broker_failures(seen(state, name, *hosts))
    assert told(failure, contrast) == expected


def test_a_path_is_sure_where_both_its_ends_were_served(state: MakeState) -> None:
    rows = [*seen(state, "silent", 21), state(2, 22, "serving", 0, 50)]
    (failure,) = broker_failures(rows)
    assert told(failure, Contrast({"1"}, {"10.0.0.22"})) == ("confirmed", [])
    assert told(failure, Contrast({"1"})) == ("likely", ["broker"])
    assert told(failure, Contrast()) == ("possible", ["broker", "client_host"])
    for row in failure.states:
        row.lost_bytes = 1_448
    assert told(failure, Contrast({"1"}, {"10.0.0.22"})) == ("confirmed", ["path"])
    assert "takes no packets with 1448 bytes of payload (MTU)" in failure.alternatives[0].what


@pytest.mark.parametrize(
    ("peers", "expected"), [((3,), ("possible", ["broker", "broker"])), ((3, 4), ("likely", ["broker"]))]
)
def test_a_broker_that_several_others_did_not_reach_is_more_likely_than_all_of_them(
    state: MakeState, peers: tuple[int, ...], expected: Told
) -> None:
    rows = [state(node, 21, "serving", 0, 50) for node in (2, 3, 4)]
    (failure,) = broker_failures([*rows, *(state(2, peer, "silent", 5, 20, "broker") for peer in peers)])
    assert failure.kind.name == "replication"
    assert told(failure, Contrast()) == expected


def test_a_host_is_sure_where_it_used_several_brokers_and_others_were_served(state: MakeState) -> None:
    one = seen(state, "host_silent", 21)
    (failure,) = unreachable_hosts([*one, state(1, 21, "serving", 0, 50)])
    assert told(failure, Contrast(others={"10.0.0.22"})) == ("confirmed", [])
    assert told(failure, Contrast()) == ("likely", ["cluster"])
    (failure,) = unreachable_hosts(one)
    assert told(failure, Contrast()) == ("possible", ["path", "cluster"])


def test_the_sentence_says_what_else_it_may_be_and_the_row_what_would_tell(state: MakeState) -> None:
    (failure,) = broker_failures(seen(state, "silent", 21))
    told(failure, ELSEWHERE)
    assert sentence_of(failure, failure.end_ns, 0).endswith(
        "It could also be a firewall or a cut path between 10.0.0.21 and node 2 (10.0.0.2:9092)."
    )
    assert [alternative.decided_by for alternative in failure.alternatives] == [
        "packets captured at another host, or the log of the broker for that time"
    ]


def test_who_was_served_is_asked_for_the_time_that_packets_prove(state: MakeState) -> None:
    (failure,) = broker_failures(seen(state, "silent", 21))
    asked: list[Question] = []

    def ask(questions: Sequence[Question]) -> list[Contrast]:
        asked.extend(questions)
        return [Contrast() for _ in questions]

    localize([failure, replace_kind(failure)], [*failure.states, state(1, 12, "serving", 0, 60, "broker")], ask)
    brokers = frozenset({"10.0.0.12"})
    assert asked == [Question(5 * NS, 20 * NS, frozenset({"10.0.0.21"}), frozenset({"2"}), brokers)]


def replace_kind(failure: Failure) -> Failure:
    """What errors alone show has no place on the grid."""
    return replace(failure, states=[])


REQUESTS = (
    ("10.0.0.21", 1, 9),  # the host that suffers, served by another broker
    ("10.0.0.21", 2, 9),  # by the broker that failed: no contrast
    ("10.0.0.22", 2, 9),  # another host, by the broker that failed
    ("10.0.0.23", 3, 9),  # another host, by another broker
    ("10.0.0.24", 3, 4),  # before it
    ("10.0.0.25", None, 11),  # by a server whose node id is not known
    ("10.0.0.26", 3, 21),  # after it
    (None, 3, 10),
)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A dataset with REQUESTS: client, node id, and when it was answered in seconds. Two batches."""

    def batches(dataset: Dataset, table: Table, columns: list[str], only: object) -> Iterator[pa.RecordBatch]:
        for some in (REQUESTS[:3], REQUESTS[3:]):
            yield pa.RecordBatch.from_pydict(
                {
                    "client_ip": pa.array([row[0] for row in some], pa.string()),
                    "server_ip": pa.array(["10.0.0.9" for _ in some], pa.string()),
                    "server_port": pa.array([9092 for _ in some], pa.int32()),
                    "node_id": pa.array([row[1] for row in some], pa.int32()),
                    "response_ns": pa.array([row[2] * NS for row in some], pa.int64()),
                }
            )

    monkeypatch.setattr(meanwhile_module, "scan", batches)
    return Dataset.__new__(Dataset)


def test_whose_requests_were_answered_meanwhile_is_the_contrast(requests: Dataset) -> None:
    question = Question(5 * NS, 20 * NS, frozenset({"10.0.0.21"}), frozenset({"2"}))
    (found,) = contrasts(requests, [question])
    assert found == Contrast({"1"}, {"10.0.0.22"}, {"10.0.0.23", "10.0.0.25"})
    assert found.sentence(1) == "1 host shows it; node 1 served it and 3 other hosts were served meanwhile"
    (of_clients,) = contrasts(requests, [replace(question, brokers=frozenset({"10.0.0.21", "10.0.0.22", "10.0.0.23"}))])
    assert of_clients == Contrast({"1"}, set(), {"10.0.0.25"})
    (of_port,) = contrasts(requests, [replace(question, servers=frozenset({"10.0.0.9:9092"}))])
    assert of_port.hosts_beside == {"10.0.0.25"}


def test_nobody_who_was_served_is_no_contrast(requests: Dataset) -> None:
    (found,) = contrasts(requests, [Question(12 * NS, 13 * NS, frozenset(), frozenset())])
    assert found == Contrast()
    assert found.sentence(2) == "2 hosts show it; the capture has no other request that was answered meanwhile"


def test_at_most_so_many_of_a_kind_are_kept() -> None:
    found = Contrast()
    question = Question(0, 1, frozenset(), frozenset({"2"}))
    found.take(question, ((f"10.0.1.{n}", "2") for n in range(MOST + 5)))
    assert len(found.hosts_beside) == MOST
    assert found.served_text == "20 other hosts or more were served"


def test_a_broker_that_failed_for_most_of_the_time_is_no_contrast(state: MakeState) -> None:
    """Node 2 fails from 5 to 20 s for two hosts. Node 1 serves them for a moment longer, and fails until 19 s; node 3
    fails for the last moment only."""
    rows = seen(state, "down", 21, 22)
    for node, begin, end in ((1, 6, 19), (3, 18, 30)):
        for host in (21, 22):
            rows += [state(node, host, "serving", 0, begin), state(node, host, "down", begin, end)]
            rows.append(state(node, host, "serving", end, 50))
    failures = broker_failures(rows)

    def ask(questions: Sequence[Question]) -> list[Contrast]:
        return [Contrast({"1", "3"} - question.servers, {"10.0.0.23"}) for question in questions]

    localize(failures, rows, ask)
    (of_node_2,) = (failure for failure in failures if failure.node_id == 2)
    assert (of_node_2.contrast.servers_beside, of_node_2.contrast.hosts_beside) == ({"3"}, {"10.0.0.23"})
