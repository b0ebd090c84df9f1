"""Facts from all buckets that the second pass over each bucket needs, gathered between the two passes, for each cluster
of the capture.

Clusters share nothing: the spill of a bucket is first divided by cluster. Then the facts of each cluster are gathered,
and each part of a bucket is finished, as if the capture had only this cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.dataset.limits_hit import CLUSTERS, PARTITION_FLOW
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.memory.free_memory import stay_below
from kafkascope_analyzer.memory.limits import KEPT_BYTES
from kafkascope_analyzer.resolve.cluster.learn import learn_cluster, note_answers
from kafkascope_analyzer.resolve.cluster.membership import ClusterName, Membership, find_clusters
from kafkascope_analyzer.resolve.cluster.split_spill import split_spill
from kafkascope_analyzer.resolve.find_uncovered import uncovered_of_spills
from kafkascope_analyzer.resolve.flow.checkpoint import SAVED_FLOW, forget_flow
from kafkascope_analyzer.resolve.servers.add_up import SAVED_SERVERS
from kafkascope_analyzer.resolve.shared_facts import SharedFacts, gather_shared_facts
from kafkascope_analyzer.resolve.tasks import RunTasks


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Facts about one cluster. spills: the spill of its connections in each bucket that has some, by the directory of
    the bucket's spill."""

    named: ClusterName
    spills: Mapping[Path, Path]
    cluster: Cluster
    shared: SharedFacts

    def with_spill_at(self, spill: Path, place: Path) -> "ClusterFacts":
        """Returns the facts for a bucket whose spill has been moved to another place, together with its parts by
        cluster."""
        if spill not in self.spills:
            return self
        there = self.spills[spill]
        here = place.with_name(place.name + there.name.removeprefix(spill.name))
        return replace(self, spills={place: here}, cluster=self.cluster.with_spill_at(there, here))


@dataclass(frozen=True, slots=True)
class Learned:
    """membership: the cluster of each connection; clusters: facts about each of its clusters; uncovered: the times
    between the files that none of them covers."""

    membership: Membership
    clusters: Sequence[ClusterFacts]
    uncovered: Uncovered

    def with_spill_at(self, spill: Path, place: Path) -> "Learned":
        """Returns the facts for a bucket whose spill has been moved to another place."""
        return replace(self, clusters=[each.with_spill_at(spill, place) for each in self.clusters])

    def parts_of(self, spill: Path) -> list[Path]:
        """Returns the directories of a bucket's spill, divided by cluster."""
        return [each.spills[spill] for each in self.clusters if spill in each.spills]

    def limits_hit(self) -> dict[str, int]:
        """Returns how much was left out at each limit, by the names of hit_limits."""
        n_left_out = sum(each.shared.n_flow_left_out for each in self.clusters)
        return {PARTITION_FLOW: n_left_out, CLUSTERS: self.membership.n_left_out}


def learn(
    spills: Sequence[Path],
    names: HostNames,
    run: RunTasks,
    files: Sequence[tuple[int, int]] = (),
    network_times: pa.Table | None = None,
    saved: Path | None = None,
) -> Learned:
    """Gathers the facts from the spills of all buckets.

    names: names of hosts from the user and the files; DNS answers are added. run: runs tasks over the spills. files:
    times of the first and last packet of each file, or of each of its spans between leaps of the clock. network_times:
    network_times.NETWORK_TIMES where there were several capture points. saved: the folder of the counts of flow
    (flow.checkpoint) and the sums of servers (servers.add_up) of a run to which captures are appended; they are kept
    while there is one cluster.
    """
    note_answers(spills, names)
    uncovered = uncovered_of_spills(files, spills)
    membership = find_clusters(spills, names)
    stay_below(KEPT_BYTES)
    if len(membership.clusters) != 1:
        if saved is not None:
            (saved / SAVED_SERVERS).unlink(missing_ok=True)
        forget_flow(None if saved is None else saved / SAVED_FLOW, spills)
        saved = None
    found = []
    for named, parts in zip(membership.clusters, _divided(membership), strict=True):
        cluster = learn_cluster(list(parts.values()), names, run)
        stay_below(KEPT_BYTES)
        shared = gather_shared_facts(list(parts.values()), cluster, run, uncovered, saved)
        found.append(ClusterFacts(named, parts, cluster, replace(shared, network_times=network_times)))
    return Learned(membership, found, uncovered)


def _divided(membership: Membership) -> list[dict[Path, Path]]:
    """Returns for each cluster the directories of its spills, by the directory of the bucket's spill."""
    if len(membership.clusters) == 1:
        return [{spill: spill for spill in membership.of_connection}]
    parts: list[dict[Path, Path]] = [{} for _ in membership.clusters]
    for spill, of_connection in membership.of_connection.items():
        for number, part in split_spill(spill, of_connection).items():
            parts[number][spill] = part
    return parts
