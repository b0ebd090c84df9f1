"""Static members that were fenced, from the errors of their coordinator."""

from types import SimpleNamespace

import pytest

from kafkascope_spark.stories.incidents.errors.other_failures import of_errors
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.groups.unreleased_instances import give_unreleased
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.rows.incident_rows import actions_of, severity_of
from kafkascope_spark.stories.incidents.rows.sentences import sentence_of

from .conftest import NS


@pytest.mark.parametrize("error", ["FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"])
def test_a_fenced_static_member_is_no_slow_one(recovery, error):
    """The advice for slow members, group.instance.id, is what fenced it."""
    (failure,) = of_errors([recovery(error, 21, 1, 5, None, resource_kind="group", resource="orders-app")])
    assert (failure.kind.name, failure.subject) == ("member_fenced", "group orders-app")
    sentence = sentence_of(failure, None, 0)
    advice = " ".join(action.text for action in actions_of(failure, Observed(failure, {}, [])))
    whose = "a member" if error == "UNRELEASED_INSTANCE_ID" else "another process"
    assert f"{whose} with the same group.instance.id" in sentence
    assert error in sentence
    assert " use one group.instance.id" in advice
    assert "session.timeout.ms" not in advice


@pytest.mark.parametrize(("waited", "severity"), [(None, "warning"), (4, "warning"), (12, "error")])
def test_a_fenced_member_costs_what_its_group_waited(recovery, stall, waited, severity):
    """The other process with its group.instance.id reads its partitions."""
    fenced = {"resource_kind": "group", "resource": "orders-app", "outcome": "fatal"}
    (failure,) = of_errors([recovery("FENCED_INSTANCE_ID", 21, 1, 5, None, **fenced)])
    if waited is not None:
        failure.stalls.append(stall("consume", 21, 1, 5, 5 + waited, group_id="orders-app"))
    assert severity_of(failure) == severity


@pytest.mark.parametrize(
    ("gone_from", "group", "follows"), [(3, "orders-app", True), (3, "x", False), (60, "orders-app", False)]
)
def test_who_waits_for_the_session_of_a_member_that_went_follows_from_that(recovery, gone_from, group, follows):
    refused = {"resource_kind": "group", "resource": "orders-app"}
    errors = list(of_errors([recovery("UNRELEASED_INSTANCE_ID", 21, 1, 5, 40, **refused)]))
    gone = Failure(MEMBER, group, gone_from * NS, (gone_from + 45) * NS)
    gone.rebalances.append(SimpleNamespace(group_id=group, lost=["member"]))
    give_unreleased(errors, [gone])
    assert (errors[0].root is gone) is follows


def test_a_member_that_was_removed_is_not_fenced(recovery):
    (failure,) = of_errors([recovery("UNKNOWN_MEMBER_ID", 21, 1, 5, 6, resource_kind="group", resource="orders-app")])
    assert failure.kind.name == "member"
