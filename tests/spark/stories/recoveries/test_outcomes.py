"""What becomes of an episode without a success, from connections and times written by hand."""

import pytest

from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.episode import Episode
from kafkascope_spark.stories.recoveries.journal import EpisodeStep
from kafkascope_spark.stories.recoveries.outcomes import OpenOutcomes

S = 1_000_000_000
LOST, OTHER = "10.0.0.1:9092", "10.0.0.2:9092"


def lost(kind: str, name: str, at: int) -> Episode:
    episode = Episode((kind, name), 0, 1, EpisodeStep("error", at, "c1"), 0)
    episode.last_error_ns = at
    return episode


@pytest.fixture
def connections(connection):
    """A connection to the lost server until 10 s; another one, whose last request a test sets."""

    def make(last_request_s: float, closed: bool = False, groups: frozenset[str] = frozenset()) -> list[Connection]:
        to_lost = connection("c1", 0, 10_000)
        to_other = connection("c2", 0, 30_000 if closed else None)
        to_lost.server, to_other.server = LOST, OTHER
        to_lost.last_request_ns, to_other.last_request_ns = 9 * S, round(last_request_s * S)
        to_other.groups = dict.fromkeys(groups, 0)
        return [to_lost, to_other]

    return make


@pytest.mark.parametrize(
    ("kind", "name", "last_request_s", "closed", "groups", "outcome"),
    [
        ("connection", LOST, 15, False, (), "served_elsewhere"),
        ("connection", LOST, 9, False, (), "still_open"),
        ("connection", LOST, 9, True, (), "client_ended"),
        ("partition", "orders-0", 15, False, (), "gave_up"),
        ("partition", "orders-0", 15, False, ("orders-app",), "served_elsewhere"),
        ("partition", "orders-0", 10.5, False, (), "still_open"),
        ("group", "orders-app", 15, False, ("orders-app",), "gave_up"),
        ("partition", "orders-0", 10.5, True, (), "client_ended"),
    ],
)
def test_how_an_open_episode_ended(connections, kind, name, last_request_s, closed, groups, outcome):
    made = connections(last_request_s, closed, frozenset(groups))
    assert OpenOutcomes(made, {"c1", "c2"}, 60 * S).outcome(lost(kind, name, 10 * S)) == outcome


@pytest.mark.parametrize(
    ("tried_s", "outcome"), [(45, "still_open"), (25, "client_ended"), (None, "client_ended")], ids=str
)
def test_a_client_that_still_tries_to_connect_has_not_ended(connections, connection, tried_s, outcome):
    """The other connection ends after 30 s: an attempt that failed before that is none of a client that goes on."""
    made = connections(9, closed=True)
    if tried_s is not None:
        attempt = connection("c3", 1000 * tried_s, 1000 * tried_s, close_kind="unanswered")
        attempt.server = LOST
        made.append(attempt)
    assert OpenOutcomes(made, {"c1", "c2"}, 60 * S).outcome(lost("connection", LOST, 10 * S)) == outcome
