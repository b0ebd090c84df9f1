"""Families of incidents: which followed from which, how grave, from when to when."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.client_names import NamedClient
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.consequences import Following, consequences_of
from kafkascope_analyzer.report.model.incidents.families import every_incident, families_of, root_ids
from kafkascope_analyzer.report.model.incidents.headline import headline_of, judged_of
from kafkascope_analyzer.report.model.incidents.impact import ending_of, when_text, who_text
from kafkascope_analyzer.report.model.incidents.load import Facts
from kafkascope_analyzer.report.model.incidents.model import Incidents
from kafkascope_analyzer.report.model.incidents.summary import load_overview, summary_of

S = 1_000_000_000
IncidentRow, Stall, FailedStart = (
    get_args(get_type_hints(Facts)[name])[0] for name in ("incidents", "stalls", "failed_starts")
)


def of(kind: type, /, **values: Any) -> Any:
    """A dataclass with these values; the rest is nothing."""
    empty = {f.name: () if "tuple[" in str(f.type) else None for f in fields(kind)}
    return kind(**empty | values)


def incident(name: str, root: str | None = None, begin: int = 1, end: int | None = 5, **values: Any) -> Any:
    row = {"incident_id": name, "root_incident_id": root, "start_ns": begin * S, "severity": "info", "sentence": name}
    row |= {"family_severity": values.get("severity", "info"), "longest_ms": 0}
    return of(IncidentRow, **row | {"end_ns": None if end is None else end * S} | values)


def stall(name: str, of_incident: str | None, ms: int, to: int | None = 9, **values: Any) -> Any:
    row = {"stall_id": name, "incident_id": of_incident, "from_ns": 2 * S, "waited_ms": ms, "kind": "produce"}
    return of(Stall, **row | {"to_ns": None if to is None else to * S} | values)


def facts(incidents: Sequence[Any] = (), stalls: Sequence[Any] = (), starts: Sequence[Any] = (), **more: Any) -> Facts:
    clients = {name: of(NamedClient, client_instance_id=name, client_id=f"id-{name}", kind="producer") for name in "ab"}
    rows = {"incidents": list(incidents), "stalls": list(stalls), "failed_starts": list(starts), "clients": clients}
    empty = {"findings": [], "proofs": {}, "start_ns": 0, "end_ns": 20 * S, "n_files": 1, "stall_ms": 1000}
    known = {"has_stories": True, "has_incidents": True, "no_kafka": None, "doubt": None, "missing": ()}
    known |= {"restriction": None, "outside": {}}
    return Facts(**rows | empty | known | more)


def test_what_followed_belongs_to_the_first_also_over_several_steps() -> None:
    found = families_of(facts([incident("a"), incident("b", "a"), incident("c", "b"), incident("d", "gone")]))
    assert root_ids(found) == {"a": "a", "b": "a", "c": "a", "d": "d"}
    assert [(f.identity, [row.incident_id for row in f.members]) for f in every_incident(facts([incident("a")]))] == [
        ("a", ["a"])
    ]


def test_incidents_that_name_each_other_are_a_family_and_no_endless_loop() -> None:
    found = families_of(facts([incident("a", "b"), incident("b", "a")]))
    assert sorted(root_ids(found)) == ["a", "b"]


@pytest.mark.parametrize("to", [9, None])
def test_a_family_is_as_severe_as_its_column_says_and_lasts_as_long_as_its_stalls(to: int | None) -> None:
    rows = [incident(name, root, family_severity="error") for name, root in (("a", None), ("b", "a"))]
    found = facts(rows, [stall("s", "b", 500, to)])
    (family,) = families_of(found)
    assert family.severity == "error"
    assert family.end_ns == (None if to is None else to * S)
    assert [each.severity for each in every_incident(found)] == ["error", "info"]


def test_grave_families_come_first_then_the_early_ones() -> None:
    rows = [incident("late", begin=3), incident("early", begin=1), incident("grave", begin=4, severity="error")]
    assert [family.identity for family in families_of(facts(rows))] == ["grave", "early", "late"]


def test_stalls_of_others_that_went_on_are_not_its_own() -> None:
    rows = [incident("a"), incident("b", earlier_stalls=("s1", "s2", "unknown"), clients=("b",), node_id=7)]
    stalls = [stall("s1", "a", 20, client_instance_id="a"), stall("s2", "b", 30, client_instance_id="a")]
    by_id = {family.identity: family for family in families_of(facts(rows, stalls))}
    assert [one.stall_id for one in by_id["b"].earlier_stalls] == ["s1"]
    assert (by_id["b"].clients, by_id["b"].nodes) == ({"a", "b"}, {7})


def incidents(**values: Any) -> Incidents:
    counts = {"n": 0, "by_severity": {}, "n_routine": 0, "routine_text": "", "n_unassigned": 0, "stall_ms": 1000}
    made: Incidents = of(Incidents, present=True, **counts | values)
    return made


def test_a_calm_capture_says_so_and_an_empty_one_does_not() -> None:
    calm = headline_of(facts(), incidents(), (), 3)
    assert (calm.verdict, calm.sentence) == ("none", "Nothing failed that the capture shows.")
    assert calm.details == (
        "None of 2 clients stalled for 1 s or longer, and no start failed. Brokers returned 3 error codes; no "
        "client waited that long because of them.",
    )
    empty = headline_of(facts(no_kafka="the capture has no packets"), incidents(), (), 0)
    assert (empty.verdict, empty.sentence, empty.details) == ("unknown", "The capture has no packets.", ())


def test_stalls_failed_starts_and_findings_are_judged() -> None:
    starts = [of(FailedStart, startup_id="x", client_instance_id="b", failed_step="join_group")]
    stalls = [stall("s1", None, 1500, client_instance_id="a"), stall("s2", "i", 99_000, client_instance_id="a")]
    finding = of(Finding, finding_id="f", rule="acks_zero", severity="warning", sentence="s")
    found = facts(stalls=stalls, starts=starts)
    judged = judged_of(found, incidents(by_severity={"error": 1, "info": 0}), (finding,))
    assert [(one.kind, one.severity, one.n) for one in judged] == [
        ("incident", "error", 1),
        ("stall", "warning", 1),
        ("failed start", "error", 1),
        ("finding", "warning", 1),
    ]
    head = headline_of(found, incidents(), (finding,), 0)
    assert (head.verdict, head.n_stalled_clients, head.n_failed_starts, head.longest_ms) == ("error", 1, 1, 99_000)
    assert "1 of 2 clients stalled" in " ".join((head.sentence, *head.details))
    assert "1 start failed: id-b at join group." in head.details


def test_what_followed_is_counted_by_kind_and_the_first_are_named() -> None:
    (family,) = families_of(facts([incident("a")]))
    moves = [Following("leaders", "", n, lambda n=n: f"move {n}", "a", 3) for n in range(12)]  # type: ignore[misc]
    found = {"a": {"leaders": moves, "recoveries": [Following("recoveries", "r1", 0, lambda: "recovered", "a")]}}
    finding = of(Finding, finding_id="f1", rule="acks_zero", severity="warning", sentence="was seen")
    recoveries, leaders, findings = consequences_of(family, found, [finding])
    assert (recoveries.kind, recoveries.text, recoveries.ids) == ("recoveries", "1 recovery from errors", ("r1",))
    assert (leaders.n, leaders.text, leaders.ids, len(leaders.sentences)) == (36, "36 leaders moved", (), 10)
    assert findings.sentences == ("acks_zero: was seen",)


def test_incidents_above_info_are_listed_the_others_are_routine_and_findings_are_under_theirs(dataset) -> None:
    found = summary_of(load_overview(Dataset.open(dataset())), 1)
    assert [one.incident_id for one in found.incidents.listed] == ["incident-1"]
    assert [one.incident_id for one in found.incidents.routine] == ["incident-3"]
    assert found.incidents.by_severity == {"error": 1, "warning": 0, "info": 1}
    (listed,) = found.incidents.listed
    assert (listed.n_stalls, listed.n_clients, listed.finding_ids) == (3, 2, ("f-2",))
    assert {one.finding_id: one.incident_id for one in found.findings}["f-2"] == "incident-1"
    assert (found.no_kafka, found.headline.verdict) == (None, "error")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"hosts": ("10.0.0.1", "10.0.0.2"), "longest_ms": 16_200}, "2 hosts, longest 16.2 s"),
        ({"kept_out_hosts": ("10.0.0.1",), "longest_ms": 14_000}, "1 host, longest 14.0 s"),
        ({"hosts": ("10.0.0.1",), "longest_ms": 999}, "nobody"),
        ({"hosts": (), "longest_ms": 16_200}, "nobody"),
        ({"hosts": ("10.0.0.1",), "clients": ("a",), "longest_ms": 16_200}, "1 client, longest 16.2 s"),
        ({"hosts": ("10.0.0.1",), "clients": ("a",)}, "1 client, none stalled"),
        ({"encrypted_hosts": ("10.0.0.1", "10.0.0.2"), "longest_ms": 12_000}, "2 encrypted hosts, longest 12.0 s"),
        ({"n_records_late": 40, "n_records_failed": 1}, "nobody, 40 records late, 1 record failed"),
        ({"n_records_again": 30}, "nobody, 30 records fetched again"),
    ],
)
def test_where_nobody_stalled_hosts_that_could_not_connect_are_those_who_waited(
    values: dict[str, Any], text: str
) -> None:
    base = {
        "clients": (),
        "hosts": (),
        "encrypted_hosts": (),
        "kept_out_hosts": (),
        "n_records_late": 0,
        "n_records_failed": 0,
        "n_records_again": 0,
    }
    found = facts([incident("a", **base | values)])
    assert who_text(families_of(found)[0], found) == text


@pytest.mark.parametrize(
    ("root", "consequence", "text"),
    [
        ("over", "over", "over"),
        ("not_seen", "over", "not_seen"),
        ("over", "not_seen", "not_seen"),
        ("not_seen", "going_on", "going_on"),
        ("going_on", "over", "going_on"),
    ],
)
def test_a_family_is_over_if_all_its_incidents_are(root: str, consequence: str, text: str) -> None:
    ends = {"over": 9, "going_on": None, "not_seen": None}
    rows = [
        incident("a", end=ends[root], ending=root),
        incident("b", "a", end=ends[consequence], ending=consequence),
    ]
    found = facts(rows)
    (family,) = families_of(found)
    assert ending_of(family) == text
    said = {"over": "", "going_on": "not over when the capture ended", "not_seen": "its end is not seen"}[text]
    assert said in when_text(family, 0)
