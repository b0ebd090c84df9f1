"""Which broker is behind an address: what is enough evidence, and what leaves it open."""

from collections import Counter

from kafkascope_analyzer.connections.nodes import Answers, Evidence, resolve_nodes

A, B = ("192.0.2.1", 9092), ("192.0.2.2", 9092)


def evidence(advertised=None, replicas=None, moving=None, **answers):
    """moving: of confirmed answers."""
    out = Evidence(servers={A, B}, advertised=advertised or {}, replicas=replicas or {})
    for name, counts in answers.items():
        for place, reported in counts.items():
            getattr(out, name)[place] = Answers(Counter(reported))
    for place, counts in (moving or {}).items():
        out.confirmed[place].moving.update(counts)
    return out


def nodes(out):
    return {end: node.node_id for end, node in resolve_nodes(out).items() if node.node_id is not None}


def test_an_advertised_address_is_its_node():
    assert nodes(evidence(advertised={A: {1}, B: {2}})) == {A: 1, B: 2}


def test_one_address_advertised_for_several_nodes_is_none_of_them():
    assert nodes(evidence(advertised={A: {1, 2}})) == {}


def test_a_name_is_resolved_by_what_the_address_answered_for():
    named = {("kafka-1.example", 9092): {1}}
    assert nodes(evidence(advertised=named, confirmed={A: {1: 20}})) == {A: 1}


def test_answers_for_several_nodes_leave_it_open():
    assert nodes(evidence(confirmed={A: {1: 10, 2: 9}})) == {}


def test_answers_that_contradict_the_advertised_node_leave_it_open():
    assert nodes(evidence(advertised={A: {2}}, confirmed={A: {1: 10, 3: 10}})) == {}


def test_answers_before_a_late_report_do_not_contradict_the_node_that_it_names():
    """Node 1 took over from nodes 2 and 3, and answered before anybody reported so."""
    stale = {"confirmed": {A: {2: 3, 3: 3}}, "advertised": {A: {1}}}
    assert nodes(evidence(**stale)) == {}
    assert nodes(evidence(**stale, moving={A: {1: 6}})) == {A: 1}


def test_of_two_nodes_that_may_have_answered_the_one_reported_before_did():
    assert nodes(evidence(confirmed={A: {1: 6}}, moving={A: {2: 6}})) == {A: 1}


def test_a_broker_that_fetches_as_a_replica_from_the_address_is_what_answers_there():
    """Node 2 led at A before the capture named a leader, and node 1 did when it first named one."""
    assert nodes(evidence(confirmed={A: {1: 20}}, replicas={A[0]: {2}})) == {A: 2}
    assert nodes(evidence(confirmed={A: {1: 20}}, replicas={A[0]: {1, 2}})) == {A: 1}


def test_two_nodes_that_may_have_given_each_answer_leave_it_open():
    out = evidence(confirmed={A: {1: 3, 2: 3}}, moving={A: {1: 3, 2: 3}})
    assert {end: node for end, node in resolve_nodes(out).items() if end == A} == {}


def test_fetches_speak_only_where_nothing_else_does():
    assert nodes(evidence(fetched={A: {1: 10}, B: {1: 10}}, confirmed={B: {2: 1}})) == {A: 1, B: 2}


def test_another_port_of_an_address_with_one_node_is_that_node():
    out = evidence(advertised={A: {1}}, replicas={"192.0.2.2": {2}})
    out.servers.add(("192.0.2.1", 9093))
    assert nodes(out) == {A: 1, ("192.0.2.1", 9093): 1, B: 2}


def test_another_port_of_an_address_with_several_nodes_stays_open():
    out = Evidence(servers={A, ("192.0.2.1", 9093), ("192.0.2.1", 9094)})
    out.advertised[A] = {1}
    out.advertised[("192.0.2.1", 9093)] = {2}
    assert nodes(out) == {A: 1, ("192.0.2.1", 9093): 2}


def handed_over(*answers):
    """Nodes 1 and 2 advertise names. answers: of DNS, a name, an address, and when."""
    out = evidence(advertised={("kafka-1.example", 9092): {1}, ("kafka-2.example", 9092): {2}})
    for name, address, ts_ns in answers:
        out.names.note_answer(f"{name}.example", [address], ts_ns)
    return {
        end[0]: [(since_ns, owner.node_id) for since_ns, owner in node.owners]
        for end, node in resolve_nodes(out).items()
        if node.owners
    }


def test_an_address_that_goes_from_one_name_to_another_is_one_node_after_the_other():
    """The DNS answers of two pods that have each other's address after they started again."""
    before = [("kafka-1", A[0], 10), ("kafka-2", B[0], 11), ("kafka-1", A[0], 20)]
    after = [("kafka-1", B[0], 50), ("kafka-2", A[0], 51)]
    assert handed_over(*before, *after) == {A[0]: [(10, 1), (50, 2)], B[0]: [(11, 2), (50, 1)]}


def test_an_address_of_two_names_at_one_time_is_handed_over_to_nobody():
    both = [("kafka-1", A[0], 10), ("kafka-2", A[0], 11)]
    assert handed_over(*both) == {}, "kafka-1 has no other address"
    assert handed_over(*both, ("kafka-1", B[0], 12), ("kafka-1", A[0], 13)) == {}, "kafka-1 has two addresses"
    assert handed_over(("kafka-1", A[0], 10), ("kafka-2", A[0], 20)) == {}
