"""`slow_handling`: a group commits records long after it fetched them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import accumulate

from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, duration, listed
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import PARTITION_FLOW

# Commits of a slice of time that do not include records which a member had fetched LATE_COMMIT_MS before or earlier.
# Records that a group fetches again, because it rewinds or continues from its last commit, count from the last fetch.
_LATE = f"""
select c.group_id, c.topic, c.partition, c.ts_ns, min(f.ts_ns + f.slice_ms * 1000000) as fetched_ns,
    max(f.position) - c.committed_offset as n_waiting
from commits c join (
    select group_id, topic, partition, ts_ns, slice_ms, min(high_watermark - lag_last) over (
        partition by group_id, topic, partition order by ts_ns rows between current row and unbounded following
    ) as position from fetches
) f on c.group_id = f.group_id and c.topic = f.topic and c.partition = f.partition
where f.position > c.committed_offset and f.ts_ns + f.slice_ms * 1000000 + {limit.LATE_COMMIT_MS}000000L <= c.ts_ns
group by c.group_id, c.topic, c.partition, c.ts_ns, c.committed_offset"""
# One finding per group. A group that always commits late does so on purpose, for example in large batches.
_QUERY = f"""
with late as ({_LATE}), groups as (
    select group_id, count(*) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
        max(ts_ns - fetched_ns) as longest_ns, max(n_waiting) as n_waiting,
        {sorted_set("concat(topic, '-', partition)")} as partitions
    from late group by group_id having count(distinct ts_ns) >= {limit.LATE_COMMITS}
), habits as (
    select group_id, count(*) as n_commits, count(distinct topic, partition) as n_partitions from commits
    group by group_id
)
select g.group_id, n, g.first_ns, g.last_ns, longest_ns, n_waiting, partitions, n_partitions,
    if(n = n_commits, 'info', 'warning') as severity, count(*) as n_members,
    if(count(*) = 1, min(c.client_instance_id), null) as client_instance_id, min(c.client_id) as client_id,
    min(c.client_ip) as client_ip, {sorted_set("c.software_name")} as software_names,
    array_sort(flatten(collect_list(c.conn_ids))) as conn_ids,
    array_sort(flatten(collect_list(c.conn_ids))) as evidence
from groups g join habits h on g.group_id = h.group_id join clients c on g.group_id = c.group_id
    and c.kind not in ('admin', 'broker') and c.first_ns <= g.last_ns and c.last_ns >= g.first_ns
group by g.group_id, n, g.first_ns, g.last_ns, longest_ns, n_waiting, partitions, n_partitions, n_commits"""
_PARTITION = ("group_id", "topic", "partition")


def _some_commit_late(tables: Tables) -> bool:
    """Whether a commit does not include records that were fetched LATE_COMMIT_MS before or earlier."""
    fetches = defaultdict(list)
    columns = (*_PARTITION, "ts_ns", "slice_ms", "high_watermark", "lag_last")
    for *key, ts_ns, slice_ms, high_watermark, lag in rows_of(tables["fetches"], *columns):
        fetches[tuple(key)].append((ts_ns, high_watermark - lag, ts_ns + slice_ms * 1_000_000))
    fetched = {key: _positions(each) for key, each in fetches.items()}
    for *key, ts_ns, committed in rows_of(tables["commits"], *_PARTITION, "ts_ns", "committed_offset"):
        ends, positions = fetched.get(tuple(key), ((), ()))
        n_before = bisect_right(ends, ts_ns - limit.LATE_COMMIT_MS * 1_000_000)
        if n_before > 0 and positions[n_before - 1] > committed:
            return True
    return False


def _positions(fetches: list[tuple[int, int, int]]) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the ends of slices of time, in order, and the offset up to which a partition was finally fetched by then.
    fetches: begin of the slice, position, end."""
    fetches.sort()
    lowest = list(accumulate((position for _, position, _ in reversed(fetches)), min))[::-1]
    by_end = sorted((end, position) for (_, _, end), position in zip(fetches, lowest, strict=True))
    return [end for end, _ in by_end], list(accumulate((position for _, position in by_end), max))


def _sentence(f: Facts) -> str:
    who = client(f.client_id, f.client_ip) if f.n_members == 1 else counted(f.n_members, "member")
    return (
        f"Group {f.group_id} ({who}) committed records of {listed(f.partitions)} up to {duration(f.longest_ns)} after "
        f"it had fetched them, from {f.begin(f.first_ns)} to {f.at(f.last_ns)}: up to "
        f"{counted(f.n_waiting, 'record')} of a partition waited in the client"
    )


def _advice(f: Facts) -> str:
    more = f.n_partitions - f.n_members
    members = (
        f" {counted(f.n_members, 'member')} read {counted(f.n_partitions, 'partition')}: more members share the work."
        if more > 0
        else f" It has a member for each of its {counted(f.n_partitions, 'partition')}: more members need more of them."
    )
    return f"{_look(f.libraries)}{members}"


def _look(libraries: Collection[str]) -> str:
    interval = setting("commit_interval", libraries)
    commits = f", as by {interval}" if interval else ""
    return (
        "The brokers delivered in time: look at what the application does with each record, and at how it commits. A "
        f"commit that is waited for after each few records slows it down; commit once for many records{commits}."
    )


DETECTOR = Detector(
    reads={
        "commits": Where(PARTITION_FLOW, committed_offset=NOT_NULL),
        "fetches": Where(PARTITION_FLOW, group_id=NOT_NULL, high_watermark=NOT_NULL, lag_last=NOT_NULL),
    },
    candidates=Candidates(
        {
            "commits": (*_PARTITION, "ts_ns", "committed_offset"),
            "fetches": (*_PARTITION, "ts_ns", "slice_ms", "high_watermark", "lag_last"),
        },
        _some_commit_late,
    ),
    query=_QUERY,
    subject=fact("group_id"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="slow_handling",
    title="A group commits records long after it fetched them",
    severity="warning",
    meaning="Brokers delivered the records in time, and they waited in the client: the application takes longer for "
    "them than they take to come, or waits for its commits. By what it fetches the group keeps up; its lag by "
    "committed offsets, as kafka-consumer-groups.sh shows it, grows.",
    looks_at="Offsets that a group commits, against those that it had fetched by then (partition_flow): at least "
    f"{limit.LATE_COMMITS} slices of time with commits that leave out records fetched {limit.LATE_COMMIT_MS // 1000} s "
    "before or earlier. Information only where all its commits do: then it commits so on purpose.",
    advice=f"{_look(())} Add members where there are more partitions than members.",
    sources=("KIP-62", "auto.commit.interval.ms of the consumer settings"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | MOVES | {"member", "quota", "client"}),
)
