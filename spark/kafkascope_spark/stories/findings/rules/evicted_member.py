"""`evicted_member`: a coordinator removed a member from its group."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers import api_keys
from kafkascope_parsers.api_keys import GROUP_HEARTBEATS, LEAVE_GROUP
from kafkascope_parsers.error_facts import MEMBER_REMOVED
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import none_of
from kafkascope_spark.stories.findings.poll_timeouts import LEAVES_AND_REJOINS
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.silent_members import MISSING_MEMBERS
from kafkascope_spark.stories.findings.sql import SEEN, literals, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, duration, times
from kafkascope_spark.stories.incidents.texts.texts import now, slow_polls
from kafkascope_spark.stories.settings import setting

MOVED = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")
_MEMBER_APIS = literals(
    {api_keys.OFFSET_COMMIT, api_keys.JOIN_GROUP, api_keys.SYNC_GROUP, api_keys.HEARTBEAT, api_keys.LEAVE_GROUP}
    | api_keys.GROUP_HEARTBEATS
)
_LEAVES = f"(api_key = {LEAVE_GROUP} or (api_key in {literals(GROUP_HEARTBEATS)} and generation_or_epoch < 0))"
_SUCCEEDS = f"status = 'ok' and coalesce(error_name, 'NONE') = 'NONE' and not {_LEAVES}"
_WHO = "client_instance_id, client_id, client_ip, group_id"
# One finding per client and group, with its last successful request as a member and its first refused one. The process
# ran in between where it sent other requests without a pause as long as its session: a paused one sends some before and
# after.
_QUERY = f"""
with members as (
    select {_WHO}, own_conns, {SEEN}, {sorted_set("error_name")} as names,
        every(api_key = {api_keys.JOIN_GROUP}) as only_joins, min_by(node_id, struct(ts_ns, request_id)) as node_id
    from refusals join (
        select explode(conn_ids) as conn_id, conn_ids as own_conns, client_instance_id from clients
        where size(member_ids) > 0 and kind != 'broker'
    ) using (conn_id)
    group by {_WHO}, own_conns
), calls as (
    select group_id, conn_id as call_conn_id, request_id, ts_ns as sent_ns, api_key, error_name, generation_or_epoch,
        node_id as called_node_id, queued_us, status, member_id
    from requests where api_key in {_MEMBER_APIS}
), histories as (
    select /*+ broadcast(m) */ m.{_WHO.replace(", ", ", m.")}, own_conns, n, first_ns, last_ns, evidence, conn_ids,
        names, only_joins, m.node_id,
        max_by(struct(request_id, sent_ns, called_node_id),
            if({_SUCCEEDS}, struct(sent_ns, request_id), null)) as last_success,
        min(if(error_name in {literals(MEMBER_REMOVED)}, sent_ns, null)) as refused_ns,
        max(if(error_name in {literals(MEMBER_REMOVED)}, coalesce(queued_us, 0), 0)) as held_us,
        max(if(error_name in {literals(MEMBER_REMOVED)}, member_id = '', false)) as is_without_id,
        max(if({_LEAVES}, sent_ns, null)) as left_ns,
        max(if(error_name in {literals(MOVED)}, sent_ns, null)) as moved_ns
    from calls c join (select *, explode(own_conns) as own_conn from members) m
        on c.group_id = m.group_id and c.call_conn_id = m.own_conn
    where sent_ns < first_ns
    group by all
), terms as (
    select h.* except (left_ns, moved_ns, own_conn), max(session_timeout_ms) as session_ms,
        max(nullif(rebalance_timeout_ms, -1)) as poll_ms
    from (select *, explode(own_conns) as own_conn from histories) h
        left join join_group_requests j on h.group_id = j.group_id and h.own_conn = j.conn_id
    where coalesce(left_ns < last_success.sent_ns, left_ns is null)
        and coalesce(moved_ns < last_success.sent_ns, moved_ns is null)
        and coalesce(last_success.called_node_id = node_id, true)
    group by all
), others as (
    select t.client_instance_id, t.group_id, t.refused_ns, r.ts_ns,
        r.ts_ns - lag(r.ts_ns, 1, t.last_success.sent_ns)
            over (partition by t.client_instance_id, t.group_id order by r.ts_ns) as pause_ns
    from (select *, explode(own_conns) as own_conn from terms) t join requests r on r.conn_id = t.own_conn
    where r.ts_ns > t.last_success.sent_ns and r.ts_ns < t.refused_ns and r.api_key not in {_MEMBER_APIS}
), busy as (
    select client_instance_id, group_id, count(*) as n_meanwhile,
        greatest(max(pause_ns), min(refused_ns - ts_ns)) as quiet_ns
    from others group by client_instance_id, group_id
)
select {_WHO}, n, first_ns, last_ns, names, session_ms, poll_ms, conn_ids, held_us,
    if(quiet_ns < session_ms * 1e6, n_meanwhile, null) as n_meanwhile,
    coalesce(quiet_ns, refused_ns - last_success.sent_ns) as quiet_ns,
    refused_ns - last_success.sent_ns as silent_ns, last_success.sent_ns as since_ns, array(node_id) as node_ids,
    concat(array_compact(array(last_success.request_id)), evidence) as evidence
from terms left join busy using (client_instance_id, group_id)
where not (only_joins or coalesce(is_without_id, false))
    or refused_ns - last_success.sent_ns >= session_ms * 1000000L"""


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} was no longer a member of group {f.group_id} at {f.begin(f.first_ns)}: "
        f"{_cause(f)} ({', '.join(f.names)}, {times(f.n)})"
    )


def _cause(f: Facts) -> str:
    if f.silent_ns is None:
        return "the capture begins after that"
    silence = f"it sent nothing for {duration(f.quiet_ns)}"
    if f.n_meanwhile:
        silence = (
            f"it sent no heartbeat for {duration(f.silent_ns)}, although it sent "
            f"{counted(f.n_meanwhile, 'other request')}"
        )
    if f.session_ms is None:
        return f"its last successful request was {duration(f.silent_ns)} before"
    if _was_held(f):
        held = f"its requests had waited in the broker for up to {duration(f.held_us * 1_000)}"
        return f"{held}, behind another response on the same connection (session timeout: {f.session_ms} ms)"
    if _session_timed_out(f):
        return f"{silence} (session timeout: {f.session_ms} ms)"
    limit = "" if f.poll_ms is None else f" ({f.poll_ms} ms)"
    last = f"its last request was {duration(f.silent_ns)} before"
    if _was_in_time(f):
        return f"{last}, within its session timeout ({f.session_ms} ms) and the time to join a rebalance{limit}"
    return f"{last}, so that it took longer to join the rebalance than is allowed{limit}"


def _was_held(f: Facts) -> bool:
    """Whether its requests waited in the broker until its session was over: requests of a connection are served in
    order."""
    return bool(f.held_us >= f.session_ms * 1_000)


def _session_timed_out(f: Facts) -> bool:
    return f.silent_ns is not None and bool(f.silent_ns >= f.session_ms * 1_000_000)


def _was_in_time(f: Facts) -> bool:
    """Whether neither its session timeout nor its rebalance timeout was over, so that the coordinator removed it for
    another reason."""
    return f.poll_ms is not None and bool(f.silent_ns < f.poll_ms * 1_000_000)


def _advice(f: Facts) -> str:
    if f.session_ms is not None and _was_held(f):
        return (
            f"Lower {setting('fetch_wait', f.libraries)} far below the session timeout, or let the library use a "
            "separate connection for the group's coordinator: heartbeats wait behind the Fetch (behind_long_poll)."
        )
    if f.session_ms is None and f.n >= limit.ASKED_AGAIN:
        return (
            "Restart it: it gets another member id, and joins as a new member. It got this error again and again: "
            "after it a member has to join again at once. Its silence is not the cause."
        )
    if f.session_ms is None:
        return _silent(f.libraries)
    if _session_timed_out(f):
        if f.n_meanwhile:
            return _without_heartbeat(f)
        return _silent(f.libraries, f.session_ms, f.silent_ns)
    if _was_in_time(f):
        return (
            "It kept its timeouts: no timeout and no pause between polls is to be changed. See the incident of the "
            "group for what else removed its members (a leader that is late, another process with its name), and the "
            "coordinator's log."
        )
    return slow_polls(f.libraries, f.poll_ms)


def _without_heartbeat(f: Facts) -> str:
    """What to change where the process ran, and sent heartbeats too rarely."""
    return (
        "Its process, host and network worked: it sent other requests meanwhile. Lower "
        f"{setting('heartbeat_interval', f.libraries)} to a third of "
        f"{setting('session_timeout', f.libraries)}{now(f.session_ms)}. Where it is that low already, the library "
        "sends heartbeats only while the application polls, or its heartbeat thread has ended: upgrade it."
    )


def _silent(libraries: Collection[str], session_ms: int | None = None, silent_ns: int | None = None) -> str:
    longer = "" if silent_ns is None else f" above {-(-silent_ns // 1_000_000_000)}000 ms"
    return (
        "Find out why the member was silent (a pause of its process, its host or its network). If such pauses are "
        f"expected, raise {setting('session_timeout', libraries)}{now(session_ms)}{longer}, with "
        f"{setting('heartbeat_interval', libraries)} at a third of it; with the consumer protocol it is "
        "group.consumer.session.timeout.ms of the brokers."
    )


REFUSED_MEMBERS = Detector(
    reads={"refusals": Where(ERRORS, error_name=tuple(sorted(MEMBER_REMOVED)), api_key=none_of(LEAVE_GROUP))},
    query=_QUERY,
    subject=fact("group_id"),
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="evicted_member",
    title="A member was removed from its group",
    severity="warning",
    meaning="The coordinator had no heartbeat of a member for its session timeout, or the member did not rejoin in "
    "time; it gave the member's partitions to others. The member's work in the meantime is done twice, and its "
    "commits are refused.",
    looks_at=f"{' or '.join(sorted(MEMBER_REMOVED))} to a client that was a member, with the time since its last "
    "request that went well; session and rebalance timeout are those of its JoinGroup. Members that "
    "said that they leave, groups whose coordinator moved, and requests without a member id of a member that was not "
    "silent for its session timeout, are left out. "
    "Also members that leave because nobody polled them: Java clients say so in LeaveGroup, others leave and "
    "join again, twice or more. And members that are missing in the next generation and were silent for their "
    "session timeout (table rebalances).",
    advice=f"{_silent(())} {slow_polls(())}",
    sources=(
        "KIP-62",
        "KIP-800",
        "KIP-848",
        "org.apache.kafka.coordinator.group.GroupMetadataManager",
        "session.timeout.ms and max.poll.interval.ms of the consumer settings",
    ),
    detectors=(REFUSED_MEMBERS, LEAVES_AND_REJOINS, MISSING_MEMBERS),
    follows=Follows(kinds=BROKER_FAILURES | {"member", "client"}),
)
