"""The cluster of the page: owners in the order in which they owned, and changes in words."""

from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import TOPOLOGY
from kafkascope_analyzer.report.page_model import cluster_story
from kafkascope_analyzer.report.page_model.cluster_story import load_cluster


@pytest.fixture
def moved(dataset, small: ModuleType) -> Path:
    """clicks-0 moves from node 1 to node 2 and back; a coordinator is found."""
    place = dataset()
    leader = {"kind": "leader", "topic": "clicks", "partition": 0}
    coordinator = {"kind": "coordinator", "coordinator_type": "group", "coordinator_key": "readers"}
    rows = [
        {**leader, "node_id": node, "leader_epoch": epoch, "ts_ns": small.at(ms)}
        for node, epoch, ms in ((1, 1, 10), (1, 1, 20), (2, 2, 30), (1, 3, 40), (2, 2, 50))
    ]
    small.write_table(place, TOPOLOGY, [*rows, {**coordinator, "node_id": 2, "ts_ns": small.at(60)}])
    return Path(place)


def test_owners_are_those_that_were_reported_without_older_epochs(moved: Path, small: ModuleType) -> None:
    owners = {(owner.kind, owner.subject): owner for owner in load_cluster(Dataset.open(moved)).owners}
    first = owners["leader", "clicks-0"]
    assert (first.node_ids, first.since_ns) == ((1, 2, 1), (small.at(10), small.at(30), small.at(40)))
    assert owners["group coordinator", "readers"].node_ids == (2,)
    assert owners["leader", "clicks-5"].node_ids == (1,)  # confirmed by what the node did
    assert list(owners) == sorted(owners)


def test_changes_have_their_sentences_and_the_first_to_move_are_kept(
    moved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = load_cluster(Dataset.open(moved))
    texts = [change.text for change in story.changes]
    assert "leader of clicks 0 moved from node 1 to node 2" in texts
    assert story.n_changes == len(texts)
    monkeypatch.setattr(cluster_story, "MOST_SUBJECTS", 1)
    monkeypatch.setattr(cluster_story, "MOST_CHANGES", 1)
    short = load_cluster(Dataset.open(moved))
    assert [owner.subject for owner in short.owners] == ["clicks-0"]
    assert (len(short.changes), short.n_changes) == (1, story.n_changes)
