"""The open episodes of one client, from steps written by hand."""

from collections.abc import Callable

import pytest

from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries import episodes as module
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.recoveries.episodes import Episodes
from kafkascope_spark.stories.recoveries.journal import MOST_ENTRIES, EpisodeStep
from kafkascope_spark.stories.recoveries.states import Trigger
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep

MS = 1_000_000
PARTITION = ("partition", "t-0")


def step(name: str, at_ms: int, node: int = 1, error: str | None = None) -> EpisodeStep:
    return EpisodeStep(name, at_ms * MS, f"c{node}", node, f"{name}-{at_ms}", 1_000, error, node)


@pytest.fixture
def episodes(instance: Callable[..., Instance], connection: Callable[..., Connection]) -> Episodes:
    return Episodes(instance(connection("c1", 0, None), connection("c2", 0, None)))


def test_a_success_ends_an_episode_and_its_steps_are_numbered_by_time(episodes: Episodes) -> None:
    episodes.error(PARTITION, step("error", 10, error="NOT_LEADER_OR_FOLLOWER"), 0)
    episodes.react(Trigger.ANSWERED, step("metadata", 30))
    episodes.success(PARTITION, step("success", 60, node=2), 0)
    recovery, *steps = episodes.ready()
    assert isinstance(recovery, ClientRecovery)
    assert (recovery.outcome, recovery.start_ns, recovery.recovered_ns) == ("recovered", 10 * MS, 60 * MS)
    assert (recovery.refreshed_ns, recovery.old_node_id, recovery.new_node_id) == (30 * MS, 1, 2)
    assert (recovery.client_ip, recovery.cause_id, recovery.incident_id) == ("10.0.0.9", None, None)
    found = [row for row in steps if isinstance(row, RecoveryStep)]
    assert [(row.seq, row.step, row.recovery_id) for row in found] == [
        (1, "error", recovery.recovery_id),
        (2, "metadata", recovery.recovery_id),
        (3, "success", recovery.recovery_id),
    ]
    assert (episodes.ready(), bool(episodes)) == ([], False)


def test_each_episode_of_a_resource_has_an_id_of_its_own(episodes: Episodes) -> None:
    for at_ms in (10, 5_000):
        episodes.error(PARTITION, step("error", at_ms, error="NOT_LEADER_OR_FOLLOWER"), 0)
        episodes.success(PARTITION, step("success", at_ms + 10, node=2), 0)
    ids = [row.recovery_id for row in episodes.ready() if isinstance(row, ClientRecovery)]
    assert len(set(ids)) == len(ids) == 2


def test_a_full_journal_is_read_by_all_open_episodes(episodes: Episodes) -> None:
    """The first Metadata after the error is known, though the journal was emptied since."""
    episodes.error(PARTITION, step("error", 10, error="NOT_LEADER_OR_FOLLOWER"), 0)
    for number in range(2 * MOST_ENTRIES):
        episodes.react(Trigger.ANSWERED, step("metadata", 20 + number))
    (recovery, *_) = episodes.finish(lambda _: "still_open", 10_000 * MS)
    assert isinstance(recovery, ClientRecovery)
    assert (recovery.outcome, recovery.refreshed_ns) == ("still_open", 20 * MS)


def test_no_more_are_open_than_may_be(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OPEN", 2)
    for number in range(3):
        episodes.error(("partition", f"t-{number}"), step("error", 10, error="NOT_LEADER_OR_FOLLOWER"), 0)
    rows = [row for row in episodes.finish(lambda _: "still_open", MS) if isinstance(row, ClientRecovery)]
    assert [row.resource for row in rows] == ["t-0", "t-1"]
