#!/usr/bin/env python3
"""Writes the captures of a day, one file an hour, as one long-running capture of a cluster that is mostly healthy.

python -m benchmarks.day DIR --megabytes 60

Three brokers, producers and groups of consumers whose connections, offsets, members and correlation ids go on from hour
to hour. In each hour some clients start, write and end, the leader of a partition moves, and a group rebalances. The
traffic is made up: frames are encoded here, by Kafka's definitions of their versions, and records are filler. The size
of the records follows from the megabytes of an hour, so that the number of requests does not depend on it.
"""

import argparse
import heapq
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.tiling import PCAP_HEADER

from kafkascope_parsers.api_keys import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    SYNC_GROUP,
)

HOURS, HOUR_NS, SECOND_NS, MS_NS = 24, 3_600 * 10**9, 10**9, 10**6
FIRST_NS = 1_767_225_600 * SECOND_NS
BROKERS = 3
PARTITIONS = 12
"""Partitions of each topic; the leader of partition p is node p % BROKERS."""
PRODUCERS, GROUPS, MEMBERS = 24, 4, 4
SHORT_CLIENTS = 20
"""Clients an hour that write once and end."""
PRODUCE_S, FETCH_S, HEARTBEAT_S, COMMIT_S = 20, 10, 3, 30
RECORDS = 4
"""Records that a producer writes to a partition at a time."""
VERSIONS = {
    PRODUCE: 8,
    FETCH: 11,
    METADATA: 8,
    OFFSET_COMMIT: 7,
    OFFSET_FETCH: 5,
    FIND_COORDINATOR: 2,
    JOIN_GROUP: 5,
    HEARTBEAT: 3,
    SYNC_GROUP: 3,
    API_VERSIONS: 3,
}
"""The version of each API in which requests are made; the last ones whose messages have no tagged fields, except for
ApiVersions."""
NOT_LEADER, REBALANCE_IN_PROGRESS = 6, 27
SYN, ACK, FIN = 2, 16, 1


def text(value: str | None) -> bytes:
    """A nullable string."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()


def data(value: bytes) -> bytes:
    """Bytes with their length."""
    return struct.pack(">i", len(value)) + value


def array(*items: bytes) -> bytes:
    """An array of encoded items."""
    return struct.pack(">i", len(items)) + b"".join(items)


def numbers(*values: int) -> bytes:
    """An array of int32."""
    return array(*(struct.pack(">i", value) for value in values))


def batch(base_offset: int, records: int, size: int, ts_ms: int) -> bytes:
    """A record batch (magic 2) with so many bytes of filler in place of its records."""
    rest = struct.pack(">ibIhiqqqhii", 0, 2, 0, 0, records - 1, ts_ms, ts_ms, -1, -1, -1, records) + b"x" * size
    return struct.pack(">qi", base_offset, len(rest)) + rest


def node_name(node: int) -> str:
    """The host name that brokers advertise."""
    return f"10.9.0.{node + 1}"


@dataclass
class Network:
    """The packets of the hour that is being written, in time order."""

    place: Path
    record_bytes: int
    waiting: list[tuple[int, int, bytes]] = field(default_factory=list)
    count: int = 0
    files: dict[int, list[bytes]] = field(default_factory=dict)

    def send(self, ts_ns: int, packet: bytes) -> None:
        """Adds a packet; packets that are added later may be earlier by less than the longest latency."""
        self.count += 1
        heapq.heappush(self.waiting, (ts_ns, self.count, packet))

    def write_until(self, ts_ns: int) -> None:
        """Writes the packets before this time, to which no earlier one will be added."""
        while self.waiting and self.waiting[0][0] < ts_ns:
            at, _, packet = heapq.heappop(self.waiting)
            seconds, ns = divmod(at, SECOND_NS)
            hour = min((at - FIRST_NS) // HOUR_NS, HOURS - 1)
            record = struct.pack("<IIII", seconds, ns, len(packet), len(packet)) + packet
            if hour not in self.files:
                self.close()
                self.files[hour] = [PCAP_HEADER]
            self.files[hour].append(record)

    def close(self) -> None:
        """Writes the file of the hour that ended."""
        for hour, parts in self.files.items():
            (self.place / f"{hour:02}.pcap").write_bytes(b"".join(parts))
        self.files.clear()


@dataclass
class Connection:
    """A TCP connection of a client to a broker, on which one request is in flight at a time."""

    network: Network
    client: "Client"
    node: int
    port: int
    sent: int = 1000
    received: int = 2000

    def open(self, ts_ns: int) -> None:
        """The three packets of the handshake, and ApiVersions."""
        self._packet(ts_ns, b"", True, SYN)
        self.sent += 1
        self._packet(ts_ns + 100_000, b"", False, SYN | ACK)
        self.received += 1
        self._packet(ts_ns + 200_000, b"", True, ACK)
        name, release = b"apache-kafka-java", b"3.9.0"
        body = bytes([len(name) + 1]) + name + bytes([len(release) + 1]) + release + b"\0"
        offered = b"".join(struct.pack(">hhhB", api, 0, version, 0) for api, version in VERSIONS.items())
        self.exchange(ts_ns + MS_NS, API_VERSIONS, body, struct.pack(">hB", 0, len(VERSIONS) + 1) + offered + bytes(5))

    def close(self, ts_ns: int) -> None:
        """FIN of both sides, each acknowledged."""
        self._packet(ts_ns, b"", True, FIN | ACK)
        self.sent += 1
        self._packet(ts_ns + 100_000, b"", False, FIN | ACK)
        self.received += 1
        self._packet(ts_ns + 200_000, b"", True, ACK)

    def exchange(self, ts_ns: int, api: int, body: bytes, answer: bytes, latency_ns: int = MS_NS) -> None:
        """A request and its response."""
        self.client.correlation += 1
        number = self.client.correlation
        header = struct.pack(">hhi", api, VERSIONS[api], number) + text(self.client.name)
        header += b"\0" if api == API_VERSIONS else b""
        for at, payload, to_server in (
            (ts_ns, header + body, True),
            (ts_ns + latency_ns, struct.pack(">i", number) + answer, False),
        ):
            self._packet(at, data(payload), to_server, ACK)
            self._packet(at + 100_000, b"", not to_server, ACK)

    def _packet(self, ts_ns: int, payload: bytes, to_server: bool, flags: int) -> None:
        server, client = bytes([10, 9, 0, self.node + 1]), self.client.address
        source, target = (client, server) if to_server else (server, client)
        ports = (self.port, 9092) if to_server else (9092, self.port)
        seq, ack = (self.sent, self.received) if to_server else (self.received, self.sent)
        for start in range(0, max(len(payload), 1), 32_000):
            part = payload[start : start + 32_000]
            numbers_sent = (seq + start) & 0xFFFFFFFF, ack & 0xFFFFFFFF
            tcp = struct.pack(">HHIIBBHHH", *ports, *numbers_sent, 80, flags, 65535, 0, 0)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(part), 0, 0x4000, 64, 6, 0, source, target)
            self.network.send(ts_ns + start // 32_000, b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + part)
        if to_server:
            self.sent += len(payload)
        else:
            self.received += len(payload)


@dataclass
class Client:
    """A client: its name, address, and the counter of its correlation ids."""

    name: str
    address: bytes
    network: Network
    correlation: int = 0
    ports: int = 40_000

    def connect(self, ts_ns: int, node: int) -> Connection:
        """Opens a connection to a broker."""
        self.ports += 1
        connection = Connection(self.network, self, node, self.ports)
        connection.open(ts_ns)
        return connection


@dataclass
class Cluster:
    """The log end offsets of the topics' partitions, and how often the leader of each of them moved."""

    topics: dict[str, list[int]]
    moved: dict[tuple[str, int], int] = field(default_factory=dict)

    def leader(self, topic: str, partition: int) -> int:
        """The node that leads a partition."""
        return (partition + self.moved.get((topic, partition), 0)) % BROKERS

    def metadata(self, connection: Connection, ts_ns: int, topic: str) -> None:
        """Metadata of one topic, version 8."""
        end = struct.pack(">i", 9092) + text(None)
        brokers = [struct.pack(">i", node) + text(node_name(node)) + end for node in range(BROKERS)]
        replicas = numbers(0, 1, 2) + numbers(0, 1, 2) + numbers()
        partitions = [
            struct.pack(">hiii", 0, p, self.leader(topic, p), self.moved.get((topic, p), 0)) + replicas
            for p in range(PARTITIONS)
        ]
        topics = array(struct.pack(">h", 0) + text(topic) + b"\0" + array(*partitions) + struct.pack(">i", -(1 << 31)))
        answer = bytes(4) + array(*brokers) + text("benchmark-cluster-000") + struct.pack(">i", 0) + topics
        connection.exchange(ts_ns, METADATA, array(text(topic)) + b"\0\0\0", answer + struct.pack(">i", -(1 << 31)))

    def produce(self, connection: Connection, ts_ns: int, topic: str, partitions: list[int], records: int) -> None:
        """Produce, version 8. A node that does not lead a partition answers with an error."""
        written, answers = [], []
        for p in partitions:
            size = connection.network.record_bytes * records
            written.append(struct.pack(">i", p) + data(batch(0, records, size, ts_ns // MS_NS)))
            leads = self.leader(topic, p) == connection.node
            answer = (0, self.topics[topic][p], -1, 0) if leads else (NOT_LEADER, -1, -1, -1)
            answers.append(struct.pack(">ihqqq", p, *answer) + array() + text(None))
            self.topics[topic][p] += records if leads else 0
        body = text(None) + struct.pack(">hi", -1, 30_000) + array(text(topic) + array(*written))
        connection.exchange(ts_ns, PRODUCE, body, array(text(topic) + array(*answers)) + bytes(4), 3 * MS_NS)

    def fetch(self, connection: Connection, ts_ns: int, topic: str, position: dict[int, int]) -> None:
        """Fetch, version 11, of the partitions that the node leads. The position goes on to the end of what it gets."""
        chosen = [p for p in position if self.leader(topic, p) == connection.node]
        ends = self.topics[topic]
        asked = [struct.pack(">iiqqi", p, 0, position[p], -1, 1 << 20) for p in chosen]
        answers = []
        for p in chosen:
            new = ends[p] - position[p]
            records = batch(position[p], new, connection.network.record_bytes * new, ts_ns // MS_NS) if new else b""
            answers.append(struct.pack(">ihqqqii", p, 0, ends[p], ends[p], 0, -1, -1) + data(records))
            position[p] = ends[p]
        body = struct.pack(">iiiibii", -1, 500, 1, 52_428_800, 0, 0, -1) + array(text(topic) + array(*asked)) + array()
        answer = struct.pack(">ihi", 0, 0, 0) + array(text(topic) + array(*answers))
        has_records = any(len(each) > 50 for each in answers)
        connection.exchange(ts_ns, FETCH, body + text(""), answer, 2 * MS_NS if has_records else 500 * MS_NS)


Schedule = Iterator[int]
"""A client's times: it runs until its next time, and then again from there."""


def producer(cluster: Cluster, client: Client, topic: str, number: int) -> Schedule:
    """Writes to all partitions of a topic all day, and follows a leader that moved."""
    now = FIRST_NS + number * 37 * MS_NS
    nodes = [client.connect(now + node * 5 * MS_NS, node) for node in range(BROKERS)]
    now += 50 * MS_NS
    cluster.metadata(nodes[0], now, topic)
    known = [cluster.leader(topic, p) for p in range(PARTITIONS)]
    while True:
        now += PRODUCE_S * SECOND_NS
        yield now
        for node, connection in enumerate(nodes):
            chosen = [p for p in range(PARTITIONS) if known[p] == node]
            if chosen:
                cluster.produce(connection, now + node * 10 * MS_NS, topic, chosen, RECORDS)
        for p, node in enumerate(known):
            if node != cluster.leader(topic, p):
                cluster.metadata(nodes[0], now + 100 * MS_NS, topic)
                known[p] = cluster.leader(topic, p)
                cluster.produce(nodes[known[p]], now + 120 * MS_NS, topic, [p], RECORDS)


def short_client(cluster: Cluster, client: Client, topic: str, begins_ns: int) -> Schedule:
    """Connects, writes once to one partition, and ends."""
    yield begins_ns
    first = client.connect(begins_ns, 0)
    cluster.metadata(first, begins_ns + 10 * MS_NS, topic)
    partition = begins_ns // SECOND_NS % PARTITIONS
    leader = cluster.leader(topic, partition)
    connection = client.connect(begins_ns + 20 * MS_NS, leader) if leader else first
    yield begins_ns + 40 * MS_NS
    cluster.produce(connection, begins_ns + 40 * MS_NS, topic, [partition], 1)
    for each in {id(each): each for each in (first, connection)}.values():
        each.close(begins_ns + 60 * MS_NS)


@dataclass
class Group:
    """A group of consumers, with its generation."""

    name: str
    topic: str
    generation: int = 1
    committed: dict[int, int] = field(default_factory=dict)

    def member(self, number: int) -> str:
        """The id of a member."""
        return f"{self.name}-{number}-7e1f6c0a"

    def partitions(self, number: int) -> list[int]:
        """The partitions that are assigned to a member."""
        return [p for p in range(PARTITIONS) if (p + self.generation) % MEMBERS == number]

    def join(self, connection: Connection, ts_ns: int, number: int, cluster: Cluster) -> dict[int, int]:
        """JoinGroup, SyncGroup and OffsetFetch of one member. Returns its positions."""
        subscription = struct.pack(">h", 0) + array(text(self.topic)) + struct.pack(">i", -1)
        member, none = text(self.member(number)), text(None)
        joined = text(self.name) + struct.pack(">ii", 45_000, 300_000) + member + none + text("consumer")
        members = [text(self.member(n)) + none + data(subscription) for n in range(MEMBERS)] if number == 0 else []
        answer = struct.pack(">ihi", 0, 0, self.generation) + text("range") + text(self.member(0)) + member
        body = joined + array(text("range") + data(subscription))
        connection.exchange(ts_ns, JOIN_GROUP, body, answer + array(*members), 50 * MS_NS)
        assigned = [data(self._assignment(n)) for n in range(MEMBERS)]
        given = [text(self.member(n)) + assigned[n] for n in range(MEMBERS)] if number == 0 else []
        body = text(self.name) + struct.pack(">i", self.generation) + member + none + array(*given)
        connection.exchange(ts_ns + 60 * MS_NS, SYNC_GROUP, body, bytes(6) + assigned[number], 5 * MS_NS)
        mine = self.partitions(number)
        position = {p: self.committed.get(p, cluster.topics[self.topic][p]) for p in mine}
        known = [struct.pack(">iqi", p, self.committed.get(p, -1), -1) + text("") + bytes(2) for p in mine]
        body = text(self.name) + array(text(self.topic) + numbers(*mine))
        answer = bytes(4) + array(text(self.topic) + array(*known)) + bytes(2)
        connection.exchange(ts_ns + 70 * MS_NS, OFFSET_FETCH, body, answer)
        return position

    def _assignment(self, number: int) -> bytes:
        topics = array(text(self.topic) + numbers(*self.partitions(number)))
        return struct.pack(">h", 0) + topics + struct.pack(">i", -1)

    def heartbeat(self, connection: Connection, ts_ns: int, number: int, generation: int) -> None:
        """Heartbeat of a member, version 3."""
        body = text(self.name) + struct.pack(">i", generation) + text(self.member(number)) + text(None)
        error = 0 if generation == self.generation else REBALANCE_IN_PROGRESS
        connection.exchange(ts_ns, HEARTBEAT, body, struct.pack(">ih", 0, error))

    def commit(self, connection: Connection, ts_ns: int, number: int, position: dict[int, int]) -> None:
        """OffsetCommit of a member, version 7."""
        self.committed |= position
        rows = [struct.pack(">iqi", p, offset, 0) + text("") for p, offset in position.items()]
        body = text(self.name) + struct.pack(">i", self.generation) + text(self.member(number)) + text(None)
        answer = bytes(4) + array(text(self.topic) + array(*(struct.pack(">ih", p, 0) for p in position)))
        connection.exchange(ts_ns, OFFSET_COMMIT, body + array(text(self.topic) + array(*rows)), answer)


def consumer(cluster: Cluster, client: Client, group: Group, number: int) -> Schedule:
    """A member of a group, all day."""
    now = FIRST_NS + 2 * SECOND_NS + number * 11 * MS_NS
    yield now
    nodes = [client.connect(now + node * 5 * MS_NS, node) for node in range(BROKERS)]
    cluster.metadata(nodes[0], now + 20 * MS_NS, group.topic)
    body, host = text(group.name) + b"\0", text(node_name(0))
    answer = struct.pack(">ih", 0, 0) + text(None) + struct.pack(">i", 0) + host + struct.pack(">i", 9092)
    nodes[0].exchange(now + 30 * MS_NS, FIND_COORDINATOR, body, answer)
    coordinator = client.connect(now + 40 * MS_NS, 0)
    position, generation = group.join(coordinator, now + 60 * MS_NS, number, cluster), group.generation
    beat = 0
    while True:
        now, beat = now + HEARTBEAT_S * SECOND_NS, beat + 1
        yield now
        group.heartbeat(coordinator, now, number, generation)
        if generation != group.generation:
            position, generation = group.join(coordinator, now + 10 * MS_NS, number, cluster), group.generation
        if beat % (COMMIT_S // HEARTBEAT_S) == 0:
            group.commit(coordinator, now + 200 * MS_NS, number, position)
        if beat % (FETCH_S // HEARTBEAT_S) == 1:
            for node, connection in enumerate(nodes):
                cluster.fetch(connection, now + 300 * MS_NS + node * 20 * MS_NS, group.topic, position)


def changes(cluster: Cluster, groups: list[Group]) -> Schedule:
    """In each hour, a leader moves and a group rebalances."""
    topics = sorted(cluster.topics)
    for hour in range(HOURS):
        yield FIRST_NS + hour * HOUR_NS + 600 * SECOND_NS
        where = (topics[hour % len(topics)], hour % PARTITIONS)
        cluster.moved[where] = cluster.moved.get(where, 0) + 1
        yield FIRST_NS + hour * HOUR_NS + 1_800 * SECOND_NS
        groups[hour % len(groups)].generation += 1


def write_day(place: Path, megabytes: float, hours: int = HOURS) -> None:
    """Writes the captures of so many hours."""
    place.mkdir(parents=True, exist_ok=True)
    batches = PRODUCERS * 2 * PARTITIONS * 3_600 / PRODUCE_S  # each is written once and fetched once
    network = Network(place, max(1, int(megabytes * 0.9e6 / batches / RECORDS)))
    topics = [f"topic-{number}" for number in range(GROUPS)]
    cluster = Cluster({topic: [1_000] * PARTITIONS for topic in topics})
    groups = [Group(f"group-{topic}", topic) for topic in topics]
    clients = [changes(cluster, groups)]
    for n in range(PRODUCERS):
        client = Client(f"producer-{n}", bytes([10, 1, 0, n + 1]), network)
        clients.append(producer(cluster, client, topics[n % GROUPS], n))
    for n in range(GROUPS * MEMBERS):
        client = Client(f"consumer-{n}", bytes([10, 2, 0, n + 1]), network)
        clients.append(consumer(cluster, client, groups[n % GROUPS], n // GROUPS))
    for n in range(hours * SHORT_CLIENTS):
        begins = FIRST_NS + int((n + 0.5) * HOUR_NS / SHORT_CLIENTS)
        client = Client(f"job-{n % SHORT_CLIENTS}", bytes([10, 3, n // 250, n % 250 + 1]), network)
        clients.append(short_client(cluster, client, topics[n % GROUPS], begins))
    run(network, clients, FIRST_NS + hours * HOUR_NS)


def run(network: Network, clients: list[Schedule], end_ns: int) -> None:
    """Runs the clients in the order of their times, until the end."""
    due = [(next(client), number) for number, client in enumerate(clients)]
    heapq.heapify(due)
    while due and due[0][0] < end_ns:
        now, number = heapq.heappop(due)
        network.write_until(now)
        then = next(clients[number], None)
        if then is not None:
            heapq.heappush(due, (then, number))
    network.write_until(end_ns)
    network.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", type=Path)
    parser.add_argument("--megabytes", type=float, default=60, help="of each hour")
    parser.add_argument("--hours", type=int, default=HOURS)
    args = parser.parse_args()
    write_day(args.place, args.megabytes, args.hours)


if __name__ == "__main__":
    main()
