"""The task of a bucket: reduces its requests and its partition answers to facts about its connections and servers.

There may be many requests; what they show is small, and the main process adds it up over all buckets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.bootstrap import REQUEST_COLUMNS, AskedRequests
from kafkascope_analyzer.connections.cluster import Follower
from kafkascope_analyzer.connections.dictionary import ServerEndpoints
from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.nodes import Evidence
from kafkascope_analyzer.connections.role_rules import ADMIN, GROUP_COORDINATOR
from kafkascope_analyzer.connections.roles import asks_for
from kafkascope_analyzer.connections.topic_names import TopicNames
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
        coordinated: set[tuple[int, str]] = set()
        for rows in read_spill(directory, "requests", _REQUEST_COLUMNS):
            found.asked.note(rows)
            of_members = asks_for(_OF_MEMBERS, rows["api_key"], rows["api_version"])
            confirmed = pc.and_(of_members, pc.equal(pc.fill_null(rows["error_code"], -1), 0))
            coordinated |= _pairs(rows, confirmed, "group_id")
            for conn, replica in _pairs(rows, pc.greater_equal(rows["replica_id"], 0), "replica_id"):
                found.evidence.replicas[client_ips[conn].as_py() or ""].add(replica)
        for conn, group in coordinated:
            nodes = self.coordinators.get(group, set())
            if len(nodes) == 1:
                found.evidence.confirmed[ends[conn]].reported[next(iter(nodes))] += 1


def _pairs(rows: pa.Table, chosen: pa.ChunkedArray, name: str) -> set[tuple[int, Any]]:
    """Returns the distinct (connection, value of the column) of the chosen rows."""
    pairs = rows.select(["conn", name]).filter(chosen)  # few rows
    return set(zip(pairs["conn"].to_pylist(), pairs[name].to_pylist(), strict=True))
