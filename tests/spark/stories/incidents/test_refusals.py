"""The sentence and the advice of errors with which brokers refuse requests."""

from kafkascope_parsers.api_keys import FETCH, PRODUCE
from kafkascope_spark.stories.incidents.actions import brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.refusals import Refusal, advise, refusal_kind

from .conftest import NS, MakeRow

DENIED, TOO_LARGE = "TOPIC_AUTHORIZATION_FAILED", "MESSAGE_TOO_LARGE"
KIND = refusal_kind(
    "denied",
    "denied",
    "client",
    {
        DENIED: Refusal("no ACL allows it", advise(brokers("Add an ACL."))),
        TOO_LARGE: Refusal(lambda failure: f"{failure.subject} takes less", advise(clients("Send less."))),
    },
)


def failure_of(*recoveries: object) -> Failure:
    failure = Failure(KIND, "orders", 5 * NS, 9 * NS)
    for row in recoveries:
        failure.take_error(row)  # type: ignore[arg-type]
    return failure


def sentence(failure: Failure) -> str:
    return KIND.sentence(failure, Times(0))


def test_who_got_which_error_for_what_and_how_often(recovery: MakeRow) -> None:
    told = sentence(
        failure_of(
            recovery(DENIED, 21, 1, 5, 8, client_id="app", first_api_key=PRODUCE, n_errors=3),
            recovery(DENIED, 22, 1, 6, 9, client_id="job", first_api_key=FETCH, n_errors=1, resource="orders-1"),
        )
    )
    assert told.startswith("app (10.0.0.21), job (10.0.0.22) got TOPIC_AUTHORIZATION_FAILED 4 times for orders-0,")
    assert "orders-0, orders-1 (Fetch, Produce) from 00:05.000" in told
    assert told.endswith(": no ACL allows it")


def test_each_error_has_its_meaning_and_its_advice(recovery: MakeRow) -> None:
    failure = failure_of(recovery(TOO_LARGE, 21, 1, 5, 8), recovery(DENIED, 21, 1, 5, 8))
    assert sentence(failure).endswith(": orders takes less; no ACL allows it")
    told = [action.text for action in KIND.advice(failure, Observed(failure, {}, ()))]
    assert told == ["Send less.", "Add an ACL."]
    alone = failure_of(recovery(DENIED, 21, 1, 5, 8))
    assert [action.text for action in KIND.advice(alone, Observed(alone, {}, ()))] == ["Add an ACL."]


def test_requests_that_are_not_known_are_not_named(recovery: MakeRow) -> None:
    assert "orders-0 from" in sentence(failure_of(recovery(DENIED, 21, 1, 5, 8, first_api_key=None)))


def test_a_client_that_repeats_it_changes_nothing(recovery: MakeRow) -> None:
    again = failure_of(recovery(DENIED, 21, 1, 5, None, client_id="app", outcome="wrong_reaction"))
    assert sentence(again).endswith("no ACL allows it. app sent the same again and again, which changes nothing")


def test_partitions_that_errors_of_a_group_are_about(recovery: MakeRow) -> None:
    failure = failure_of(recovery(DENIED, 21, 1, 5, 8, resource_kind="group", resource="g", first_api_key=PRODUCE))
    failure.refused_partitions = frozenset({"t-1", "t-0"})
    assert "for g (Produce of t-0, t-1) from" in sentence(failure)


def test_only_errors_that_last_make_it_an_incident() -> None:
    assert (KIND.lasting, KIND.errors, KIND.own_clients) == (True, {DENIED, TOO_LARGE}, True)
    assert not refusal_kind("x", "x", "client", {}, own_clients=False).own_clients
