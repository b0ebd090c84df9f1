"""Names of brokers: hosts syntax, DNS before the hosts file, search domains."""

import pytest

from kafkascope_analyzer.connections.hosts import HostNames, read_hosts
from kafkascope_analyzer.connections.nodes import Evidence, resolve_nodes
from kafkascope_parsers.errors import UsageError

A, B = ("192.0.2.1", 9092), ("2001:db8::2", 9092)


def test_hosts_syntax(tmp_path):
    file = tmp_path / "hosts"
    file.write_text(
        "# brokers\n\n192.0.2.1\tKafka-1.lab kafka-1 # the first\n2001:db8::2 kafka-2.lab.\nfe80::1%eth0 x\n"
    )
    assert read_hosts(file) == (
        ("kafka-1.lab", "192.0.2.1"),
        ("kafka-1", "192.0.2.1"),
        ("kafka-2.lab", "2001:db8::2"),
        ("x", "fe80::1"),
    )


@pytest.mark.parametrize(("line", "said"), [("kafka-1 192.0.2.1", "no IP address"), ("192.0.2.1", "no name")])
def test_what_is_no_hosts_file_is_said_with_its_line(tmp_path, line, said):
    file = tmp_path / "hosts"
    file.write_text(f"192.0.2.9 a\n{line}\n")
    with pytest.raises(UsageError, match=f"hosts:2: .*{said}"):
        read_hosts(file)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read(tmp_path, content):
    file = tmp_path / "hosts"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match="hosts"):
        read_hosts(file)


def resolved(names, **advertised):
    out = Evidence(servers={A, B}, names=names)
    for host, nodes in advertised.items():
        for node in nodes:
            out.advertised[(host.replace("__", ".").replace("_", "-"), 9092)].add(node)
    return {end: (node.node_id, node.why) for end, node in resolve_nodes(out).items()}


def test_dns_goes_before_the_hosts_file():
    names = HostNames([("kafka-1.lab", "192.0.2.77"), ("kafka-2.lab", "2001:db8::2")])
    names.note_answer("Kafka-1.lab.", ["192.0.2.1"], 1)
    assert resolved(names, kafka_1__lab=[1], kafka_2__lab=[2]) == {
        A: (1, "advertised as kafka-1.lab:9092, resolved by DNS"),
        B: (2, "advertised as kafka-2.lab:9092, resolved by the hosts file"),
    }


def test_names_in_the_file_come_after_dns_and_before_the_hosts_file():
    names = HostNames([("kafka-2.lab", "192.0.2.1")], [("Kafka-1.lab", "192.0.2.77"), ("kafka-2.lab.", "2001:db8::2")])
    names.note_answer("kafka-1.lab", ["192.0.2.1"], 1)
    assert resolved(names, kafka_1__lab=[1], kafka_2__lab=[2]) == {
        A: (1, "advertised as kafka-1.lab:9092, resolved by DNS"),
        B: (2, "advertised as kafka-2.lab:9092, resolved by the names in the capture file"),
    }


def test_a_short_name_is_the_one_that_was_asked_for_with_a_domain():
    names = HostNames()
    names.note_answer("kafka-1.prod.example", ["192.0.2.1"], 1)
    assert resolved(names, kafka_1=[1])[A][0] == 1
    names.note_answer("kafka-1.test.example", ["192.0.2.50"], 1)
    assert resolved(names, kafka_1=[1]) == {}


def test_one_address_for_the_names_of_several_nodes_has_none_and_says_so():
    names = HostNames([("kafka-1.lab", A[0]), ("kafka-2.lab", A[0])])
    node_id, why = resolved(names, kafka_1__lab=[1], kafka_2__lab=[2])[A]
    assert node_id is None
    assert why.startswith("advertised for nodes 1, 2")


def test_a_name_that_says_another_node_than_the_answers_has_none():
    out = Evidence(servers={A}, names=HostNames([("kafka-2.lab", A[0])]))
    out.advertised[("kafka-2.lab", 9092)].add(2)
    out.confirmed[A].reported[3] = 20
    node = resolve_nodes(out)[A]
    assert (node.node_id, node.why) == (None, "advertised as kafka-2.lab:9092 for node 2, but answers for node 3")


def test_answers_for_several_nodes_are_named():
    out = Evidence(servers={A})
    out.confirmed[A].reported.update({1: 9, 2: 8, 3: 1})
    assert resolve_nodes(out)[A].why == "answers for nodes 1, 2: more than one broker is behind this address"
