from kafkascope_analyzer.dataset.stories import RECOVERY_STEPS
from kafkascope_parsers.schema.errors import error_codes, error_name
from kafkascope_spark.recoveries.reactions import NO_EPISODE, REACTIONS, reaction_to

KAFKAS = {error_name(code) for code in error_codes()}
OURS = {n for n in REACTIONS if n.startswith("CONNECTION_")} | {"REQUEST_UNANSWERED"}


def test_every_error_is_kafkas_or_a_connections() -> None:
    assert set(REACTIONS) - OURS <= KAFKAS
    assert NO_EPISODE <= KAFKAS
    assert not OURS & KAFKAS


def test_what_is_no_episode_needs_no_reaction() -> None:
    assert not NO_EPISODE & set(REACTIONS)


def test_reactions_are_steps_and_fatal_ones_expect_nothing() -> None:
    for name, reaction in REACTIONS.items():
        assert reaction.expected | reaction.forbidden <= set(RECOVERY_STEPS), name
        assert bool(reaction.expected) != reaction.fatal, name


def test_an_unknown_error_is_surfaced() -> None:
    assert reaction_to("UNKNOWN_4711").fatal
