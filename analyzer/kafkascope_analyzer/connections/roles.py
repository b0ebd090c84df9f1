"""Rows of `roles`: the jobs of each connection, their subjects, and how certain each is.

Partial counts are made batch by batch and aggregated, so that memory holds only one row per connection, role and
subject.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.partition_counts import PROOFS, RAFT_TOPIC
from kafkascope_analyzer.connections.role_rules import (
    BETWEEN_BROKERS,
    FOLLOWER_FETCH,
    INTER_BROKER,
    PARTITION_LEADER,
    REQUEST_RULES,
    RoleRule,
)
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_parsers.broker_clients import is_broker
from kafkascope_parsers.schema import error_codes, error_name, keys_by_name

_EVIDENCE_ROWS = len(PROOFS)
_NO_PROOF = -(1 << 63)
COMPACT_ROWS = 200_000
_SUMS = ("n_requests", "n_confirmed", "n_refused")
_SUBJECTS = {"group": "group_id", "transactional_id": "transactional_id"}
"""The column of requests that names the subject; requests that describe or delete name it in `described`."""

PARTIAL_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("role", pa.string()),
        ("subject", pa.string()),
        ("n_requests", pa.int64()),
        ("n_confirmed", pa.int64()),
        ("n_refused", pa.int64()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("confirmed_first_ns", pa.int64()),
        ("confirmed_last_ns", pa.int64()),
        ("evidence", pa.list_(pa.int64())),
    ]
)
"""Counts of one batch. Times are those of requests, confirmed_*: of the requests that an answer proved. `evidence`:
numbers of the first requests that prove the verdict.
"""

_COLUMNS = ["conn", "number", "ts_ns", "api_key", "api_version", "client_id", "replica_id", "error_code"]
_COLUMNS += ["group_id", "transactional_id", "described"]
_TIMES = ("first_ns", "last_ns", "confirmed_first_ns", "confirmed_last_ns")

_CODES = {error_name(code): code for code in error_codes()}
_KEYS = keys_by_name()


def _keys(rule: RoleRule) -> pa.Array:
    return pa.array([_KEYS[name] for name in sorted(rule.apis) if name in _KEYS], pa.int16())


def _refusing(rule: RoleRule) -> pa.Array:
    return pa.array([_CODES[name] for name in sorted(rule.refused_by) if name in _CODES], pa.int16())


def asks_for(rule: RoleRule, api_keys: pa.ChunkedArray, api_versions: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each request, by its API key and version, is sent to the role."""
    asks = pc.is_in(api_keys, _keys(rule))
    for name, version in rule.since.items():
        is_earlier = pc.and_(pc.equal(api_keys, _KEYS[name]), pc.less(api_versions, version))
        asks = pc.and_not(asks, pc.fill_null(is_earlier, False))
    return asks


def request_roles(requests: pa.Table) -> list[pa.Table]:
    """Returns counts of the roles that request rows alone decide. requests: spilled requests with columns as in
    SETTLED_SCHEMA.
    """
    requests = requests.select(_COLUMNS)
    asking = requests.filter(pc.is_in(requests["api_key"], _ASKING))  # most requests have no role
    asked = set(pc.unique(asking["api_key"]).to_pylist())
    rules = [rule for rule in REQUEST_RULES if asked & _KEYS_OF[rule.role]]
    return [table for rule in rules if (table := _of_rule(asking, rule)).num_rows] + _broker_roles(requests)


_KEYS_OF = {rule.role: set(_keys(rule).to_pylist()) for rule in REQUEST_RULES}
_ASKING = pa.array(sorted(set().union(*_KEYS_OF.values())), pa.int16())


def _of_rule(requests: pa.Table, rule: RoleRule) -> pa.Table:
    rows = requests.filter(asks_for(rule, requests["api_key"], requests["api_version"]))
    if not rows.num_rows:
        return PARTIAL_SCHEMA.empty_table()
    if rule.subject in _SUBJECTS:
        rows = rows.append_column("subject", pc.coalesce(rows[_SUBJECTS[rule.subject]], rows["described"]))
    else:
        rows = rows.append_column("subject", pa.nulls(rows.num_rows, pa.string()))
    if rule.subject != "none":
        rows = rows.filter(pc.is_valid(rows["subject"]))
    return _counted(rows, rule.role, _refusing(rule))


def _broker_roles(requests: pa.Table) -> list[pa.Table]:
    """Returns counts of roles between brokers, by sender or version: fetches of a replica, the brokers' own clients,
    versions that only brokers send.

    (The raft log's fetches are distinguished by their topic, in `partition_roles`.)
    """
    replica = pc.fill_null(pc.greater_equal(requests["replica_id"], 0), False)
    names = requests["client_id"].combine_chunks().dictionary_encode()
    brokers = pa.array([is_broker(name) for name in names.dictionary.to_pylist()], pa.bool_())
    own = pc.fill_null(brokers.take(names.indices), False)
    chosen = pc.or_(replica, own)
    for api, version in BETWEEN_BROKERS.items():
        late = pc.and_(pc.equal(requests["api_key"], _KEYS[api]), pc.greater_equal(requests["api_version"], version))
        chosen = pc.or_(chosen, pc.fill_null(late, False))
    rows = requests.filter(pc.and_(chosen, pc.is_valid(requests["api_key"])))
    rows = rows.append_column("subject", pa.nulls(rows.num_rows, pa.string()))
    return [_counted(rows, INTER_BROKER.role, _refusing(INTER_BROKER))] if rows.num_rows else []


def partition_roles(counts: pa.Table, follows: pa.Array, sent: pa.Array) -> list[pa.Table]:
    """Returns counts of partition_leader and follower_fetch per topic-partition, and of the controller by fetches of
    the raft log.

    counts: partition counts (COUNTS_SCHEMA) of named topics. follows: bool per count, whether it is of fetches that a
    follower answered; sent: whether a broker had sent the consumer to it, which proves it.
    """
    proven = pc.if_else(pc.or_(pc.invert(follows), sent), counts["n_confirmed"], pa.scalar(0, pa.int64()))
    counts = counts.set_column(counts.column_names.index("n_confirmed"), "n_confirmed", proven)
    counts = counts.append_column("follows", follows)
    is_raft = pc.equal(counts["topic"], RAFT_TOPIC)
    raft, rows = counts.filter(is_raft), counts.filter(pc.invert(is_raft))
    led, followed = rows.filter(pc.invert(rows["follows"])), rows.filter(rows["follows"])
    return [
        _partial(raft, "controller", pa.nulls(raft.num_rows, pa.string())),
        _partial(led, PARTITION_LEADER.role, _places(led)),
        _partial(followed, FOLLOWER_FETCH.role, _places(followed)),
    ]


def _places(counts: pa.Table) -> pa.ChunkedArray:
    """Returns topic-partitions as Kafka's logs write them."""
    return pc.binary_join_element_wise(counts["topic"], pc.cast(counts["partition"], pa.string()), "-")


def _partial(counts: pa.Table, role: str, subject: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Returns partition counts as counts of a role."""
    n = counts.num_rows
    proofs = np.stack([counts[name].fill_null(_NO_PROOF).to_numpy() for name in PROOFS], 1).ravel()
    offsets = pa.array(np.arange(0, len(proofs) + 1, len(PROOFS), dtype=np.int32))
    evidence = pa.ListArray.from_arrays(offsets, pa.array(proofs, mask=proofs == _NO_PROOF))
    sums = [counts[name] for name in (*_SUMS, *_TIMES)]
    return pa.table([counts["conn"], pa.repeat(pa.scalar(role), n), subject, *sums, evidence], PARTIAL_SCHEMA)


def _counted(rows: pa.Table, role: str, refusing: pa.Array) -> pa.Table:
    """Returns counts of requests whose row includes the response."""
    ok = pc.equal(pc.fill_null(rows["error_code"], -2), 0)
    answered = pc.is_valid(rows["error_code"])
    refused = pc.and_(answered, pc.fill_null(pc.is_in(rows["error_code"], refusing), False))
    confirmed = pc.and_(answered, pc.or_(ok, pc.invert(refused))) if not len(refusing) else ok
    return _grouped(rows, role, (pc.is_valid(rows["api_key"]), confirmed, refused))


def _grouped(rows: pa.Table, role: str, counts: tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]) -> pa.Table:
    """Aggregates requests, each a count of its own. counts: whether each one asked, was confirmed, was refused."""
    n = rows.num_rows
    asked, confirmed, refused = (pc.cast(flag, pa.int64()) for flag in counts)
    proof = pc.if_else(pc.equal(pc.add(confirmed, refused), 0), None, rows["number"]).combine_chunks()
    confirmed_ns = pc.if_else(counts[1], rows["ts_ns"], None)
    times = (rows["ts_ns"], rows["ts_ns"], confirmed_ns, confirmed_ns)
    evidence = pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32)), proof)
    keys = (rows["conn"], pa.repeat(pa.scalar(role), n), rows["subject"])
    return added_up([pa.table([*keys, asked, confirmed, refused, *times, evidence], PARTIAL_SCHEMA)])


def bootstrap_roles(bootstraps: pa.Table) -> pa.Table:
    """Returns one row for each connection that bootstrapped a client (BOOTSTRAP_SCHEMA)."""
    n = bootstraps.num_rows
    asked, first_ns, last_ns = (bootstraps[name] for name in ("n_asked", "first_ns", "last_ns"))
    zeros = pa.array(np.zeros(n, np.int64))
    numbers = bootstraps["number"].combine_chunks()
    columns = {
        "conn": bootstraps["conn"],
        "role": pa.repeat(pa.scalar("bootstrap"), n),
        "subject": pa.nulls(n, pa.string()),
        "n_requests": asked,
        "n_confirmed": pc.if_else(bootstraps["is_proven"], asked, pa.scalar(0, pa.int64())),
        "n_refused": zeros,
        "first_ns": first_ns,
        "last_ns": last_ns,
        "confirmed_first_ns": first_ns,
        "confirmed_last_ns": last_ns,
        "evidence": pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32)), numbers),
    }
    return pa.table([columns[name] for name in PARTIAL_SCHEMA.names], PARTIAL_SCHEMA)


def added_up(partials: list[pa.Table]) -> pa.Table:
    """Aggregates partial counts to one row per connection, role and subject (PARTIAL_SCHEMA)."""
    if not partials:
        return PARTIAL_SCHEMA.empty_table()
    table = pa.concat_tables(partials)
    table = table.append_column("row", pa.array(np.arange(table.num_rows)))
    grouped = table.group_by(["conn", "role", "subject"], use_threads=False).aggregate(
        [
            ("n_requests", "sum"),
            ("n_confirmed", "sum"),
            ("n_refused", "sum"),
            ("first_ns", "min"),
            ("last_ns", "max"),
            ("confirmed_first_ns", "min"),
            ("confirmed_last_ns", "max"),
            ("row", "list"),
        ]
    )
    evidence = _first_proofs(grouped["row_list"].combine_chunks(), table["evidence"].combine_chunks())
    columns = [
        "conn",
        "role",
        "subject",
        "n_requests_sum",
        "n_confirmed_sum",
        "n_refused_sum",
        "first_ns_min",
        "last_ns_max",
        "confirmed_first_ns_min",
        "confirmed_last_ns_max",
    ]
    return pa.table([*(grouped[name] for name in columns), evidence], PARTIAL_SCHEMA)


def _first_proofs(rows: pa.ListArray, proofs: pa.ListArray) -> pa.ListArray:
    """Returns the first _EVIDENCE_ROWS proofs of each group, regardless of batches. rows: all rows of each group;
    proofs: proofs of each row, possibly null.
    """
    group_of = np.empty(len(proofs), np.int64)
    group_of[pc.list_flatten(rows).to_numpy()] = pc.list_parent_indices(rows).to_numpy()
    flat, of_row = pc.list_flatten(proofs), pc.list_parent_indices(proofs).to_numpy()
    known = np.asarray(flat.is_valid())
    group, number = group_of[of_row[known]], flat.drop_null().to_numpy()
    order = np.lexsort((number, group))
    group, number = group[order], number[order]
    fresh = first_of_runs(group, number)
    group, number = group[fresh], number[fresh]
    ends = np.cumsum(np.bincount(group, minlength=len(rows)))
    rank = np.arange(len(group)) - np.concatenate([[0], ends])[group]
    kept = rank < _EVIDENCE_ROWS
    counts = np.bincount(group[kept], minlength=len(rows))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(number[kept], pa.int64()))


class RoleCounts:
    """Partial counts of a bucket, aggregated whenever COMPACT_ROWS have come: memory by connection and subject."""

    def __init__(self) -> None:
        self._partials: list[pa.Table] = []
        self._n_new = 0

    def add(self, partials: list[pa.Table]) -> None:
        """Takes partial counts (PARTIAL_SCHEMA)."""
        self._partials += partials
        self._n_new += sum(table.num_rows for table in partials)
        if self._n_new > COMPACT_ROWS:
            self._partials, self._n_new = [added_up(self._partials)], 0

    def total(self) -> pa.Table:
        """Returns one row per connection, role and subject."""
        return added_up(self._partials)


def verdicts(confirmed: pa.ChunkedArray, refused: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns confirmed where an answer proves the role, refused where answers only deny it, else claimed."""
    return pc.if_else(pc.greater(confirmed, 0), "confirmed", pc.if_else(pc.greater(refused, 0), "refused", "claimed"))
