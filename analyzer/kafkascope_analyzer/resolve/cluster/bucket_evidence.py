"""The task of a bucket: reduces its requests and its partition answers to facts about its connections and servers.

There may be many requests; what they show is small, and the main process adds it up over all buckets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.bootstrap import REQUEST_COLUMNS, AskedRequests
from kafkascope_analyzer.connections.cluster import Follower
from kafkascope_analyzer.connections.dictionary import DistinctCodes, ServerEndpoints
from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.nodes import EqualAnswers, Evidence
from kafkascope_analyzer.connections.role_rules import ADMIN, GROUP_COORDINATOR
from kafkascope_analyzer.connections.roles import asks_for
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.resolve.cluster.partition_answers import (
    COUNTS,
    FETCHES,
    count_answers,
    followers_of,
    partition_answers,
)
from kafkascope_analyzer.scan.spill import read_spill

_OF_MEMBERS = replace(GROUP_COORDINATOR, apis=GROUP_COORDINATOR.apis - ADMIN.apis)
"""Requests that group members send to their coordinator."""
_CONNECTION_COLUMNS = ["client_ip", "server_ip", "server_port", "is_kafka"]
_REPLICA = ["conn", "replica_id"]
_NO_GROUP = -1
_REQUEST_COLUMNS = [*REQUEST_COLUMNS, "api_version", "error_code", "group_id", "replica_id"]


@dataclass(frozen=True, slots=True)
class BucketEvidence:
    """What the requests of a bucket show. asked: about the client of each connection; followers: replicas to which
    brokers sent consumers; evidence: servers, their answers, and replica ids."""

    asked: AskedRequests
    followers: set[Follower] = field(default_factory=set)
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True, slots=True)
class GatherEvidence:
    """The task of a bucket (resolve.tasks.SpillTask). spill: name of the folder of its spill; leaders: of the whole
    capture; coordinators: the nodes that were named as coordinator of each group."""

    spill: str
    topics: TopicNames
    leaders: Leaders
    coordinators: Mapping[str, set[int]]

    def reads(self) -> list[tuple[str, str]]:
        """Returns the spilled tables that the task reads."""
        return [(self.spill, name) for name in ("connections", "requests", COUNTS)]

    def __call__(self, folder: Path) -> BucketEvidence:
        """Reads the rows of the bucket."""
        directory = folder / self.spill
        connections = pa.concat_tables(read_spill(directory, "connections", _CONNECTION_COLUMNS)).combine_chunks()
        ends, found = ServerEndpoints(connections), BucketEvidence(AskedRequests(connections.num_rows))
        speaks = np.unique(ends.which[np.asarray(connections["is_kafka"])])
        found.evidence.servers.update(ends.distinct[each] for each in speaks.tolist())
        found.followers.update(followers_of(directory, connections["client_ip"], self.topics))
        self._note_answers(partition_answers(directory, self.topics), ends, found.evidence)
        self._note_requests(directory, connections["client_ip"], ends, found)
        return found

    def _note_answers(self, answers: pa.Table, ends: ServerEndpoints, evidence: Evidence) -> None:
        """Notes the leaders for which the servers answered."""
        is_fetch = pc.is_in(answers["api_key"], FETCHES)
        for noted, rows in ((evidence.fetched, is_fetch), (evidence.confirmed, pc.invert(is_fetch))):
            for server, found in count_answers(answers.filter(rows), ends.which, self.leaders):
                noted[ends.distinct[server]].add(found)

    def _note_requests(
        self, directory: Path, client_ips: pa.ChunkedArray, ends: ServerEndpoints, found: BucketEvidence
    ) -> None:
        """Notes the clients of the connections, coordinators and replicas."""
        nodes = {group: next(iter(named)) for group, named in self.coordinators.items() if len(named) == 1}
        groups, coordinated = pa.array([*nodes], pa.string()), DistinctCodes()
        for rows in read_spill(directory, "requests", _REQUEST_COLUMNS):
            found.asked.note(rows)
            of_members = asks_for(_OF_MEMBERS, rows["api_key"], rows["api_version"])
            confirmed = rows.filter(pc.and_(of_members, pc.equal(pc.fill_null(rows["error_code"], -1), 0)))
            code = pc.fill_null(pc.index_in(confirmed["group_id"], groups), _NO_GROUP).to_numpy().astype(np.int64)
            coordinated.add(confirmed["conn"].to_numpy()[code != _NO_GROUP], code[code != _NO_GROUP])
            replicas = rows.filter(pc.greater_equal(rows["replica_id"], 0)).group_by(_REPLICA, use_threads=False)
            for row in replicas.aggregate([]).to_pylist():
                found.evidence.replicas[client_ips[row["conn"]].as_py() or ""].add(row["replica_id"])
        _note_coordinators(coordinated, ends, np.array([*nodes.values()], np.int64), found.evidence)


def _note_coordinators(
    coordinated: DistinctCodes, ends: ServerEndpoints, nodes: NDArray[np.int64], evidence: Evidence
) -> None:
    """Notes the nodes for which servers answered as coordinators, once for each connection and group. coordinated: the
    groups of each connection, as indices into `nodes`, their coordinators."""
    group_ends, code = coordinated.part(slice(0, len(ends.which)))
    server, node = np.repeat(ends.which, np.diff(group_ends)), nodes[code]
    order = np.lexsort((node, server))
    begins = np.flatnonzero(first_of_runs(server[order], node[order]))
    n_answers = np.diff(np.append(begins, len(order)))
    at = order[begins]
    for each, node_id, n in zip(server[at].tolist(), node[at].tolist(), n_answers.tolist(), strict=True):
        evidence.confirmed[ends.distinct[each]].add(EqualAnswers(node_id, None, n))
