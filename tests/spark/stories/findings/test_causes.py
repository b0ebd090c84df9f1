"""Which incident a finding is a consequence of: by kind, time, severity, and the client, group or broker in common."""

from dataclasses import replace
from typing import Any

import pytest

from kafkascope_spark.stories.findings.causes import Cause, Causes, CauseStall
from kafkascope_spark.stories.findings.rule import Facts, Follows
from kafkascope_spark.stories.findings.table import FindingRow

S = 1_000_000_000
Row = dict[str, Any]
OF_BROKERS = Follows(kinds=frozenset({"broker_silent", "path"}))
WARNING = FindingRow(
    finding_id="f",
    rule="r",
    severity="warning",
    sentence="s",
    advice=None,
    client_instance_id="ci-1",
    conn_ids=(),
    subject=None,
    n=1,
    first_ns=12 * S,
    last_ns=20 * S,
    incident_id=None,
    evidence=(),
)


def incident(name: str, start: int, end: int | None, **changes: Any) -> Cause:
    """A broker that was silent for these seconds; somebody stalled."""
    until = None if end is None else end * S
    return replace(Cause(name, None, "broker_silent", 1, start * S, until, "error", ("ci-1",)), **changes)


def stall(name: str | None, end: int | None, group: str | None = None) -> CauseStall:
    return CauseStall(name, group, None if end is None else end * S)


def cause(
    incidents: list[Cause], finding: Row | None = None, *, follows: Follows = OF_BROKERS, stalls: Any = (), **facts: Any
) -> str | None:
    """The incident of a finding of 12 to 20 s about a client."""
    causes = Causes()
    for row in incidents:
        causes.take_incident(row)
    for row in stalls:
        causes.take_stall(row)
    return causes.incident_of(follows, replace(WARNING, **(finding or {})), Facts(facts, 0))


def test_the_one_that_lasts_longest_during_it() -> None:
    assert cause([incident("short", 10, 14), incident("long", 13, 30)]) == "long"
    assert cause([incident("short", 10, 14), incident("open", 13, None)]) == "open"
    assert cause([incident("later", 40, 50)]) is None


@pytest.mark.parametrize(
    ("changes", "finding", "facts", "belongs"),
    [
        ({}, {"client_instance_id": "ci-2"}, {}, False),
        ({}, {"client_instance_id": None}, {}, False),
        ({}, {"client_instance_id": None}, {"node_ids": [2, 1]}, True),
        ({}, {"client_instance_id": None}, {"node_ids": [2, None]}, False),
        ({"node_id": None}, {"client_instance_id": None}, {"node_ids": [None]}, False),
        ({}, {"client_instance_id": None}, {"client_instance_ids": ["ci-1", "ci-3"]}, True),
        ({}, {"client_instance_id": None}, {"client_instance_ids": ["ci-3"]}, False),
        ({"kind": "quota"}, {}, {}, False),
        ({"family_severity": "warning"}, {"severity": "error"}, {}, False),
        ({"family_severity": "info"}, {"severity": "info"}, {}, False),
        ({"family_severity": "warning"}, {"severity": "info"}, {}, True),
        ({"clients": ()}, {}, {}, False),
        ({}, {"first_ns": None}, {}, False),
        ({}, {"last_ns": None}, {}, True),
    ],
    ids=[
        "other client",
        "no client",
        "broker",
        "other broker",
        "unknown broker",
        "one of several clients",
        "other clients",
        "other kind",
        "less severe",
        "routine",
        "more severe",
        "nobody",
        "no time",
        "one time",
    ],
)
def test_it_shares_client_or_broker_and_is_not_less_severe(
    changes: Row, finding: Row, facts: Row, belongs: bool
) -> None:
    assert (cause([incident("i", 10, 30, **changes)], finding, **facts) == "i") is belongs


def test_a_rule_whose_findings_follow_from_nothing() -> None:
    causes = Causes()
    causes.take_incident(incident("i", 10, 30))
    assert causes.incident_of(None, WARNING, Facts({}, 0)) is None


def test_what_followed_from_an_incident_counts_as_that_incident() -> None:
    """The client, the kind and the end may be those of any of them; the finding names the first."""
    move = incident("move", 14, 16, kind="leader_move", root_incident_id="root", node_id=None)
    root = incident("root", 10, 11, kind="path", clients=())
    assert cause([move, root]) == "root"
    assert cause([move, root], {"first_ns": 16 * S, "severity": "error"}) == "root"
    milder = [replace(row, family_severity="warning") for row in (move, root)]
    assert cause(milder, {"first_ns": 16 * S, "severity": "error"}) is None


def test_the_groups_and_ends_of_an_incident_are_those_of_its_stalls() -> None:
    over = [incident("i", 5, 6, clients=("ci-9",))]
    waited = [stall("i", 13, "orders")]
    assert cause(over, stalls=waited, group_id="orders") == "i"
    assert cause(over, stalls=waited, group_id="other") is None
    assert cause(over, stalls=[stall("i", 9, "orders")], group_id="orders") is None
    assert cause(over, stalls=[stall("i", None, "orders")], group_id="orders") == "i"


def test_a_finding_may_have_begun_before_its_first_sign() -> None:
    assert cause([incident("i", 5, 10)]) is None
    assert cause([incident("i", 5, 10)], since_ns=8 * S) == "i"
    assert cause([incident("i", 5, 10)], since_ns=13 * S) is None, "no later than that"


def test_replicas_elsewhere_may_be_those_of_any_broker() -> None:
    replicas = Follows(kinds=OF_BROKERS.kinds, any_broker=True)
    nobody = {"client_instance_id": None}
    assert cause([incident("i", 10, 30)], nobody, follows=replicas) == "i"
    assert cause([incident("i", 10, 30, node_id=None)], nobody, follows=replicas) is None
    assert cause([incident("i", 10, 30)], nobody) is None


def test_an_incident_explains_how_long_something_took_where_it_lasted_for_half_of_that() -> None:
    start = Follows(kinds=OF_BROKERS.kinds, half_of_time=True)
    assert cause([incident("i", 10, 16)], follows=start) == "i"
    assert cause([incident("i", 10, 15)], follows=start) is None


def test_an_incident_that_is_the_same_fault_says_how_severe_it_was() -> None:
    same = Follows(kinds=OF_BROKERS.kinds, same=frozenset({"path"}))
    for kind, belongs in (("path", "i"), ("broker_silent", None)):
        mild = incident("i", 10, 30, kind=kind, family_severity="warning")
        assert cause([mild], {"severity": "error"}, follows=same) == belongs
    assert cause([incident("i", 10, 30, kind="path", family_severity="info")], follows=same) is None


def test_a_finding_about_an_incident_names_that_one_or_what_it_followed_from() -> None:
    rows = [incident("a", 12, 20), incident("b", 40, 41, root_incident_id="c"), incident("c", 39, 41)]
    assert cause(rows, incident_id="b") == "c"
    assert cause([replace(row, family_severity="info") for row in rows], incident_id="b") is None


def test_a_stall_of_no_incident_decides_nothing() -> None:
    assert cause([incident("i", 10, 30)], stalls=[stall(None, 13, "orders"), stall("another", 13)]) == "i"
