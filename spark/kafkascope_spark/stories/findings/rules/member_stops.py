"""`member_stops`: a member of a group stops its heartbeats or its commits for good, and goes on with other requests."""

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import N_ROWS, Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import (
    NOT_NULL,
    above,
    all_of,
    count,
    largest,
    longer_than,
    none_of,
    smallest,
)
from kafkascope_spark.stories.findings.read import Groups, Read, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted, duration
from kafkascope_spark.stories.tables import CLIENTS

HEARTBEATS = ("ConsumerGroupHeartbeat", "Heartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
MEMBERSHIP = (*HEARTBEATS, "FindCoordinator", "JoinGroup", "LeaveGroup", "SyncGroup")
"""Requests by which a client enters a group, stays in it and leaves it, or looks for its coordinator."""
IDLE_APIS = ("ApiVersions", "GetTelemetrySubscriptions", "PushTelemetry")
"""Requests that do not show that a consumer goes on with its work."""
COMMITS = ("OffsetCommit", "TxnOffsetCommit")
NOT_FATAL = ("ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID")
"""Errors after which a member joins its group again."""
_FIRST, _LAST = smallest("ts_ns"), largest("ts_ns")
_SEEN = all_of(_FIRST >= 0, _LAST >= 0, count() >= 1)


def _on_connections(rows: Where) -> Groups:
    """Returns the numbers and times of these requests by connection and API."""
    return Groups(rows, per=("conn_id", "api_name"), having=_SEEN)


_OWNERS = Where(CLIENTS, conn_ids=longer_than(0), identity="sole")
_COLUMNS = ("conn_id", "api_name", N_ROWS, str(_FIRST), str(_LAST))
_OF_OWNERS = ("client_instance_id", "conn_ids")
# One finding per client: a member whose last request for its group was answered without an error, or with one after
# which members join again. A client that leaves its group or looks for its coordinator has not stopped. Where its host
# could not connect meanwhile, its coordinator may be away.
_SILENT_MEMBERS = f"""
with calls as (
    select o.client_instance_id, r.conn_id, r.request_id, r.ts_ns, r.api_name, r.group_id, r.status, r.error_name,
        r.generation_or_epoch, r.api_name in {literals(MEMBERSHIP)} as is_membership
    from requests r join connection_clients c on c.conn_id = r.conn_id
        join owners o on o.client_instance_id = c.client_instance_id
    where r.api_name not in {literals(IDLE_APIS)} and array_contains(o.conn_ids, r.conn_id)
), last_calls as (
    select client_instance_id, count_if(api_name in {literals(HEARTBEATS)}) as n_beats,
        min(if(api_name in {literals(HEARTBEATS)}, ts_ns, null)) as first_ns, max(group_id) as group_id,
        max_by(struct(ts_ns, request_id, conn_id, api_name, status, error_name, generation_or_epoch),
            struct(ts_ns, request_id)) as last
    from calls where is_membership group by client_instance_id
), after as (
    select l.client_instance_id, count(*) as n, max(c.ts_ns) as last_ns,
        array_sort(collect_set(c.api_name)) as apis, {first_ids("c.request_id", "c.ts_ns", 10)} as others
    from last_calls l join calls c on c.client_instance_id = l.client_instance_id and c.ts_ns > l.last.ts_ns
    group by l.client_instance_id
), sessions as (
    select c.client_instance_id, max(j.session_timeout_ms) as session_ms
    from join_group_requests j join connection_clients c on c.conn_id = j.conn_id group by c.client_instance_id
), failed as (
    select client_ip, max(first_ns) as tried_ns from connections
    where close_kind in ('refused', 'unanswered') group by client_ip
)
select l.client_instance_id, l.group_id, o.client_id, o.client_ip, o.software_name, l.last, a.n,
    l.last.ts_ns as first_ns, a.last_ns, a.apis, s.session_ms, false as is_commit, cast(null as bigint) as n_records,
    concat(array(l.last.request_id), a.others) as evidence, o.conn_ids
from last_calls l join after a on a.client_instance_id = l.client_instance_id
    join owners o on o.client_instance_id = l.client_instance_id
    left join sessions s on s.client_instance_id = l.client_instance_id
    left join failed f on f.client_ip = o.client_ip
    left join connections k on k.conn_id = l.last.conn_id
where l.n_beats >= {limit.USUAL_HEARTBEATS} and l.last.api_name in {literals((*HEARTBEATS, "JoinGroup", "SyncGroup"))}
    and l.last.status = 'ok' and coalesce(l.last.generation_or_epoch, 0) >= 0
    and coalesce(l.last.error_name, 'NONE') in {literals(("NONE", *NOT_FATAL))}
    and a.n >= {limit.USUAL_HEARTBEATS} and coalesce(f.tried_ns, 0) < l.last.ts_ns
    and a.last_ns - l.last.ts_ns >= {limit.STOPPED_MS}000000L
    and (coalesce(l.last.error_name, 'NONE') in {literals(NOT_FATAL)}
        or (a.last_ns - l.last.ts_ns) div 1000000 >= coalesce(s.session_ms, {limit.EXPECTED_SESSION_MS}))
    and (a.last_ns - l.last.ts_ns) div {limit.STOPPED_TIMES}
        >= (l.last.ts_ns - l.first_ns) div greatest(l.n_beats - 1, 1)
    and not (coalesce(k.close_kind, 'open') in ('fin_client', 'rst_client')
        and k.close_ns - l.last.ts_ns < {limit.AT_ONCE_MS}000000L)"""

# One finding per client: it got more records since its last accepted commit than between any two before. Commits by
# number of records wait for records, and those by time for time: both are compared with the longest wait before.
_WITHOUT_COMMITS = f"""
with steps as (
    select o.client_instance_id, r.request_id, r.ts_ns, r.group_id, r.api_name in {literals(COMMITS)} as is_commit,
        if(r.api_name = 'Fetch', r.n_records, 0) as n_records,
        r.status = 'ok' and coalesce(r.n_errors, 0) = 0 as is_ok
    from requests r join connection_clients c on c.conn_id = r.conn_id
        join owners o on o.client_instance_id = c.client_instance_id
    where r.api_name in {literals(COMMITS)} or (r.api_name = 'Fetch' and r.n_records > 0)
), summed as (
    select *, try_sum(n_records) over (partition by client_instance_id order by ts_ns, request_id
        rows between unbounded preceding and current row) as so_far
    from steps
), commits as (
    select *, ts_ns - lag(ts_ns) over by_time as pause_ns, so_far - lag(so_far) over by_time as n_since
    from summed where is_commit
    window by_time as (partition by client_instance_id order by ts_ns, request_id)
), usual as (
    select client_instance_id, count(*) as n_commits, max(pause_ns) as pause_ns, max(n_since) as n_since,
        max(group_id) as group_id, max_by(struct(ts_ns, request_id, so_far, is_ok), struct(ts_ns, request_id)) as last
    from commits group by client_instance_id
), after as (
    select u.client_instance_id, count(*) as n, max(s.so_far) - max(u.last.so_far) as n_records,
        max(s.ts_ns) as last_ns, {first_ids("s.request_id", "s.ts_ns", 10)} as others
    from usual u join summed s on s.client_instance_id = u.client_instance_id and s.ts_ns > u.last.ts_ns
    group by u.client_instance_id
), left_groups as (
    select c.client_instance_id, max(r.ts_ns) as left_ns
    from requests r join connection_clients c on c.conn_id = r.conn_id where r.api_name = 'LeaveGroup'
    group by c.client_instance_id
)
select u.client_instance_id, u.group_id, o.client_id, o.client_ip, o.software_name, u.last, u.n_commits, u.pause_ns,
    a.n, u.last.ts_ns as first_ns, a.last_ns, true as is_commit, a.n_records,
    concat(array(u.last.request_id), a.others) as evidence, o.conn_ids
from usual u join after a on a.client_instance_id = u.client_instance_id
    join owners o on o.client_instance_id = u.client_instance_id
    left join left_groups g on g.client_instance_id = u.client_instance_id
where u.n_commits >= {limit.USUAL_COMMITS} and u.last.is_ok and a.last_ns - u.last.ts_ns >= {limit.STOPPED_MS}000000L
    and (a.last_ns - u.last.ts_ns) div {limit.STOPPED_TIMES} >= u.pause_ns
    and a.n_records div 2 >= u.n_since and coalesce(g.left_ns, 0) < u.last.ts_ns"""


@dataclass(slots=True)
class _Work:
    """Requests of one kind that a client sent."""

    n: int = 0
    first_ns: int | None = None
    last_ns: int = 0

    def add(self, n: int, first_ns: int, last_ns: int) -> None:
        """Adds those of a connection."""
        self.n += n
        self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        self.last_ns = max(self.last_ns, last_ns)

    def stopped(self, fewest: int, until_ns: int) -> bool:
        """Whether there were enough of them, and none for much longer than usual until this time."""
        silent_ns = until_ns - self.last_ns
        usual_ns = (self.last_ns - (self.first_ns or 0)) // max(self.n - 1, 1)
        is_long = silent_ns >= limit.STOPPED_MS * 1_000_000
        return self.n >= fewest and is_long and silent_ns // limit.STOPPED_TIMES >= usual_ns


def _work(groups: pa.Table, owners: pa.Table) -> dict[str, dict[str, _Work]]:
    """Returns what each client sent, by API."""
    found: dict[str, dict[str, _Work]] = defaultdict(lambda: defaultdict(_Work))
    for client_id, api, *seen in rows_of(with_client(groups, owners), "client_instance_id", *_COLUMNS[1:]):
        found[client_id][api].add(*seen)
    return found


def _some_are_silent(tables: Tables) -> bool:
    """Whether a client sent heartbeats, then nothing for its group, and other requests for long."""
    others = _work(tables["others_on"], tables["owners"])
    for client_id, by_api in _work(tables["membership_on"], tables["owners"]).items():
        beats = _Work()
        for api, work in by_api.items():
            if api in HEARTBEATS:
                beats.add(work.n, work.first_ns or 0, work.last_ns)
        goes_on_ns = max((work.last_ns for work in others.get(client_id, {}).values()), default=0)
        beats.last_ns = max(work.last_ns for work in by_api.values())
        left_ns = by_api["LeaveGroup"].last_ns if "LeaveGroup" in by_api else 0
        if left_ns < beats.last_ns and beats.stopped(limit.USUAL_HEARTBEATS, goes_on_ns):
            return True
    return False


def _some_commit_no_more(tables: Tables) -> bool:
    """Whether a client committed offsets, and then got records for long without a commit."""
    reading = _work(tables["read_on"], tables["owners"])
    for client_id, by_api in _work(tables["committed_on"], tables["owners"]).items():
        commits = _Work()
        for work in by_api.values():
            commits.add(work.n, work.first_ns or 0, work.last_ns)
        if commits.stopped(limit.USUAL_COMMITS, reading[client_id]["Fetch"].last_ns):
            return True
    return False


def _sentence(f: Facts) -> str:
    last, name = f.last, client(f.client_id, f.client_ip)
    answer = f", which was answered with {last['error_name']}" if last["error_name"] in NOT_FATAL else ""
    rejoin = " It was to join the group again then, and did not." if answer else ""
    return (
        f"{name} sent the last request for group {f.group_id} ({last['api_name']}) at {f.begin(f.first_ns)}{answer}, "
        f"and none in the {duration(f.last_ns - f.first_ns)} after it, though it went on with "
        f"{counted(f.n, 'other request')} ({', '.join(f.apis)}) and never left the group.{rejoin} {_consequence(f)}"
    )


def _consequence(f: Facts) -> str:
    after = (
        "its session timeout" if f.session_ms is None else f"{duration(f.session_ms * 1_000_000)} without heartbeats"
    )
    if "Fetch" in f.apis:
        return (
            f"After {after} the coordinator takes it out of the group and gives its partitions to others; what it "
            "reads after that may be read twice, and its commits are refused. The capture does not show why it stopped"
        )
    return (
        f"After {after} the coordinator takes it out of the group: it reads nothing any more. The capture does not "
        "show why it stopped"
    )


def _sentence_of_commits(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} committed offsets of group {f.group_id} {f.n_commits} times, at most "
        f"{duration(f.pause_ns)} apart, the last time at {f.begin(f.first_ns)}, and in the "
        f"{duration(f.last_ns - f.first_ns)} after it sent no commit, though it got {counted(f.n_records, 'record')} "
        "meanwhile: whoever reads these partitions after it gets them again. The capture does not show why it stopped"
    )


def _advice(f: Facts) -> str:
    name = client(f.client_id, f.client_ip)
    return (
        f"Restart {name}: it joins group {f.group_id} again then, and reads on from the committed offsets. Before that "
        "take a stack dump: the thread that sends heartbeats may have ended with an exception or wait for a lock. "
        "Update its library."
    )


def _advice_of_commits(f: Facts) -> str:
    return (
        f"See in the log of {client(f.client_id, f.client_ip)} why it commits no more: an exception ended the thread "
        "or timer that commits, a commit whose response never reached the application blocks the next, or the "
        "application marks no record as processed. The brokers refuse nothing here. Before a restart expect "
        f"{counted(f.n_records, 'record')} to be processed again."
    )


_MEMBERSHIP_READS: dict[str, Read] = {
    "membership_on": _on_connections(Where(REQUESTS, api_name=MEMBERSHIP)),
    "others_on": _on_connections(Where(REQUESTS, api_name=none_of(*MEMBERSHIP, *IDLE_APIS))),
    "owners": _OWNERS,
}
_COMMIT_READS: dict[str, Read] = {
    "committed_on": _on_connections(Where(REQUESTS, api_name=COMMITS, group_id=NOT_NULL)),
    "read_on": _on_connections(Where(REQUESTS, api_name="Fetch", n_records=above(0))),
    "owners": _OWNERS,
}
RULE = Rule(
    name="member_stops",
    title="A member of a group stops its heartbeats or commits, and goes on with other requests",
    severity="warning",
    meaning="No request fails, so that no error tells of it. A member without heartbeats is taken out of its group "
    "after its session timeout, and does not notice that another one reads its partitions, or that nobody does. A "
    "member that commits no more reads on, and everything since its last commit is read again after the next "
    "rebalance or restart.",
    looks_at=f"Heartbeats ({limit.USUAL_HEARTBEATS} or more) after whose end a client sent nothing for its group for "
    f"{limit.STOPPED_MS // 1000} s or longer, and for the session timeout if it was not asked to join again, while it "
    f"went on with other requests; and commits ({limit.USUAL_COMMITS} or more) after whose end it got records for "
    f"{limit.STOPPED_MS // 1000} s or longer. Both pauses are at least {limit.STOPPED_TIMES} times the usual one, and "
    "the records since the last commit at least twice as many as between two commits before. Clients that left their "
    "group, look for their coordinator, cannot connect, or that the capture does not distinguish from others of the "
    "same name are left out.",
    advice="Restart the client and update its library; look for an exception in the thread that sends heartbeats or "
    "commits.",
    sources=("KIP-62", "KIP-848", "org.apache.kafka.clients.consumer.internals.AbstractCoordinator"),
    detectors=(
        Detector(
            reads=_MEMBERSHIP_READS,
            candidates=Candidates(
                {"membership_on": _COLUMNS, "others_on": _COLUMNS, "owners": _OF_OWNERS}, _some_are_silent
            ),
            query=_SILENT_MEMBERS,
            subject=fact("group_id"),
            sentence=_sentence,
            advice=_advice,
        ),
        Detector(
            reads=_COMMIT_READS,
            candidates=Candidates(
                {"committed_on": _COLUMNS, "read_on": _COLUMNS, "owners": _OF_OWNERS}, _some_commit_no_more
            ),
            query=_WITHOUT_COMMITS,
            subject=fact("group_id"),
            sentence=_sentence_of_commits,
            advice=_advice_of_commits,
        ),
    ),
    follows=Follows(kinds=BROKER_FAILURES | {"client", "client_host", "member", "slow_consumer", "not_fetched"}),
)
