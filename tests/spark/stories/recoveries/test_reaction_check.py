"""When a client is blamed for what it did after an error, from steps written by hand."""

import pytest

from kafkascope_spark.stories.recoveries.journal import EpisodeStep
from kafkascope_spark.stories.recoveries.reaction import Reaction, ask, back_off, end
from kafkascope_spark.stories.recoveries.reaction_check import (
    BLIND_RETRIES,
    FORBIDDEN_STEPS,
    HASTY_RETRIES,
    PATIENCE_NS,
    REJOIN_PATIENCE_NS,
    ReactionCheck,
)

MS = 1_000_000
ASK = ask("Metadata", "metadata")


def failed(reaction: Reaction, at_ns: int = 0, node: int = 1) -> ReactionCheck:
    check = ReactionCheck()
    check.on_error(EpisodeStep("error", at_ns, "c1", node, "r0", retry_key=node), reaction)
    return check


def retry(check: ReactionCheck, number: int, at_ns: int, node: int = 1) -> None:
    check.on_retry(EpisodeStep("retry", at_ns, "c1", node, f"r{number}", retry_key=node))


@pytest.mark.parametrize(
    ("reaction", "patience_ns"),
    [(ASK, PATIENCE_NS), (ask("join", "join_group"), REJOIN_PATIENCE_NS), (end("none"), PATIENCE_NS)],
)
def test_retries_that_change_nothing_are_wrong_once_patience_is_over(reaction: Reaction, patience_ns: int) -> None:
    patient, impatient = failed(reaction), failed(reaction)
    for number in range(1, BLIND_RETRIES + 1):
        retry(patient, number, patience_ns * number // BLIND_RETRIES)
        retry(impatient, number, patience_ns * number // BLIND_RETRIES + number)
    assert patient.wrong is None
    assert impatient.wrong is not None
    assert impatient.wrong.startswith(f"{BLIND_RETRIES} retries that changed nothing")


def test_a_client_that_asks_or_goes_elsewhere_is_right() -> None:
    asking, elsewhere = failed(ASK), failed(ASK)
    for number in range(1, 20):
        at_ns = number * PATIENCE_NS
        asking.on_step(EpisodeStep("metadata", at_ns - MS), is_asked=True)
        retry(asking, number, at_ns)
        retry(elsewhere, number, at_ns, node=2)
    assert (asking.wrong, elsewhere.wrong) == (None, None)


def test_what_was_in_flight_proves_nothing() -> None:
    check = failed(ASK, at_ns=100 * PATIENCE_NS)
    for number in range(1, 20):
        retry(check, number, number * PATIENCE_NS)
    assert check.wrong is None


def test_a_forbidden_step_is_wrong_when_it_is_taken_again_and_again() -> None:
    check = failed(back_off("wait", forbidden=("find_coordinator",)))
    for number in range(1, FORBIDDEN_STEPS + 1):
        assert check.wrong is None
        check.on_step(EpisodeStep("find_coordinator", number * MS), is_asked=True)
    assert check.wrong == f"find_coordinator {FORBIDDEN_STEPS} times, which does not help here"


@pytest.mark.parametrize(("pause_ns", "is_hasty"), [(9 * MS, True), (10 * MS, False)])
def test_retries_without_a_pause_are_wrong_where_the_client_has_to_wait(pause_ns: int, is_hasty: bool) -> None:
    check, reaction, at_ns = ReactionCheck(), back_off("wait", waits=True), 0
    for number in range(HASTY_RETRIES):
        check.on_error(EpisodeStep("error", at_ns, "c1", 1, f"r{number}", retry_key=1), reaction)
        at_ns += pause_ns
        retry(check, number + 1, at_ns)
        at_ns += MS
    assert (check.wrong == f"{HASTY_RETRIES} retries without a pause") is is_hasty
