from kafkascope_spark.stories.startups.states import BEGINS, COMPLETES, TRANSITIONS, Happening, State


def test_a_start_that_began_is_complete_before_another_begins() -> None:
    """Walk the table: in every state a start is under way or not, whatever led there."""
    under_way = {State.ABSENT: False}
    todo = [State.ABSENT]
    while todo:
        state = todo.pop()
        for what in Happening:
            after = TRANSITIONS.get((state, what))
            if after is None:
                continue
            running = under_way[state]
            if (state, what) in COMPLETES:
                assert running, (state, what)
                running = False
            if (state, what) in BEGINS:
                assert not running, (state, what)
                running = True
            if after in under_way:
                assert under_way[after] is running, (state, what, after)
            else:
                under_way[after] = running
                todo.append(after)
    assert set(under_way) == set(State)


def test_nothing_is_under_way_after_the_end() -> None:
    assert {TRANSITIONS[s, Happening.ENDED] for s in State} == {State.ABSENT}


def test_begins_and_completes_are_transitions() -> None:
    assert set(TRANSITIONS) >= BEGINS | COMPLETES
