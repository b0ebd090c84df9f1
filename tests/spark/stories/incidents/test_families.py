"""The severity of a family is the worst of its incidents."""

from kafkascope_spark.stories.incidents.attribution.families import give_further_stalls, with_families
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.kinds.path import PATH
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of
from kafkascope_spark.stories.incidents.table import IncidentRow

from .conftest import MakeStall, row_of


def failure(root: Failure | None = None) -> Failure:
    made = Failure(PATH if root is None else LEADER_MOVE, "", 1, 2)
    made.root = root
    return made


def row(name: str, severity: str, root: str | None = None) -> IncidentRow:
    return row_of(IncidentRow, incident_id=name, severity=severity, family_severity=severity, root_incident_id=root)


def test_all_that_followed_counts_over_several_steps() -> None:
    first, alone = failure(), failure()
    second = failure(first)
    third = failure(second)
    rows = {
        third: row("third", "warning", "second"),
        second: row("second", "error", "first"),
        first: row("first", "info"),
        alone: row("alone", "info"),
    }
    made = with_families(rows)
    assert list(made) == list(rows)
    assert [(each.incident_id, each.severity, each.family_severity) for each in made.values()] == [
        ("third", "warning", "error"),
        ("second", "error", "error"),
        ("first", "info", "error"),
        ("alone", "info", "info"),
    ]
    assert [each.root_incident_id for each in made.values()] == ["second", "first", None, None]


def test_nothing_follows_from_a_failure_without_a_row() -> None:
    lost = failure()
    followed = failure(lost)
    (made,) = with_families({followed: row("followed", "warning", "lost")}).values()
    assert (made.root_incident_id, made.family_severity) == (None, "warning")


def test_who_stalled_because_of_what_followed_is_named(stall: MakeStall) -> None:
    first = failure()
    second = failure(first)
    third = failure(second)
    third.stalls.append(stall("consume", 21, 1, 10, 33))
    give_further_stalls([third, second, first])
    assert [len(each.further_stalls) for each in (first, second, third)] == [1, 1, 0]
    for each in (first, second):
        assert ". client-21 stalled because of what followed from it, for 23.0 s" in sentence_of(each, 2, 0)
