from kafkascope_spark.stories.recoveries.reaction import Reaction
from kafkascope_spark.stories.recoveries.states import LOST, TRANSITIONS, State, Trigger, loser_of

OPEN = (State.WAITING, State.ASKING, State.CONNECTING, State.INFORMED, State.TRYING)


def test_an_open_episode_knows_what_to_do_about_everything_and_a_closed_one_about_nothing() -> None:
    for state in OPEN:
        assert {h for s, h in TRANSITIONS if s is state} == set(Trigger), state
    assert {h for s, h in TRANSITIONS if s is State.WELL} == {Trigger.ERROR}
    assert not {s for s, _ in TRANSITIONS} & {State.RECOVERED, State.ENDED}


def test_every_state_can_be_reached_and_left() -> None:
    assert set(TRANSITIONS.values()) == set(State) - {State.WELL}
    for state in OPEN:
        assert TRANSITIONS[state, Trigger.SUCCEEDED] is State.RECOVERED
        assert TRANSITIONS[state, Trigger.ERROR] is State.WAITING


def test_time_is_the_brokers_the_clients_the_metadatas_or_the_connections() -> None:
    plain, stale, not_ready = Reaction("x"), Reaction("x", is_stale=True), Reaction("x", is_not_ready=True)
    assert loser_of(State.WAITING, plain) == "backoff"
    assert loser_of(State.WAITING, stale) == loser_of(State.ASKING, stale) == "stale"
    assert loser_of(State.INFORMED, stale) == "backoff"
    assert loser_of(State.WAITING, not_ready) == loser_of(State.TRYING, plain) == "broker"
    assert loser_of(State.CONNECTING, not_ready) == "connecting"
    assert {loser_of(state, r) for state in OPEN for r in (plain, stale, not_ready)} == set(LOST)
