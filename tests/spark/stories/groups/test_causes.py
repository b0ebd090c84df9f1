"""The cause of a generation: which of several explanations counts, for all group protocols."""

import pytest

from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_parsers.group_protocols.consumer import CONSUMER
from kafkascope_parsers.group_protocols.protocol import GroupProtocol
from kafkascope_spark.stories.groups.causes import Cause, Explanations, cause_of, first_eviction, request_ids
from kafkascope_spark.stories.groups.generation import Departure, Generation, Member

FIRST, OBSERVED, INFERRED = (Cause(name, name) for name in ("first", "member_left", "unknown"))


@pytest.mark.parametrize(
    ("possible", "expected"),
    [
        (Explanations(FIRST, OBSERVED, INFERRED), FIRST),
        (Explanations(None, OBSERVED, INFERRED), OBSERVED),
        (Explanations(None, None, INFERRED), INFERRED),
    ],
)
def test_an_observation_comes_before_an_inference(possible: Explanations, expected: Cause) -> None:
    assert cause_of(Generation("g", CLASSIC, 5), possible) is expected


def test_a_generation_that_began_before_the_capture_has_no_cause() -> None:
    cause = cause_of(Generation("g", CLASSIC, None), Explanations(FIRST, OBSERVED, INFERRED))
    assert (cause.trigger, cause.member_id) == ("unknown", None)


@pytest.mark.parametrize(("protocol", "noun"), [(CLASSIC, "generation"), (CONSUMER, "epoch")])
def test_a_static_member_that_comes_back_joined(protocol: GroupProtocol, noun: str) -> None:
    """KIP-345: a new process with the same group.instance.id gets the place and no rebalance follows."""
    now = Generation("g", protocol, 5, took_over="s-1")
    now.members = {
        "a": Member("a", client_id="other"),
        "s-2": Member("s-2", client_id="app", group_instance_id="host-1", join_sent_ns=5),
    }
    cause = cause_of(now, Explanations(FIRST, OBSERVED, INFERRED))
    assert (cause.trigger, cause.member_id) == ("member_joined", "s-2")
    assert cause.why == f"app took the place of the static member host-1: same {noun}, new member id"


def test_the_first_evicted_member_is_the_cause() -> None:
    """One that left and one that was replaced were not evicted."""
    left, replaced = Departure(Member("a"), "left"), Departure(Member("b"), "replaced", "b-2")
    evicted = [Departure(Member(name, client_id=f"app-{name}"), "evicted", None, f"r-{name}") for name in "cd"]
    cause = first_eviction([left, replaced, *evicted], "r-heartbeat", None)
    assert cause == Cause("member_evicted", "app-c was silent", "c", ("r-heartbeat", "r-c"))
    assert first_eviction([left, replaced]) is None


def test_requests_that_are_not_known_prove_nothing() -> None:
    assert request_ids(None, "r-1", None, "r-2") == ("r-1", "r-2")
    assert request_ids(None) == ()
