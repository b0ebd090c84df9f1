"""Members that leave their group because the application does not poll them for max.poll.interval.ms (Java name).

Java clients give the reason in LeaveGroup (KIP-800); others only leave, and join again at the next poll. A member that
leaves once without a reason may have changed its subscription, so that is not reported.
"""

from collections import defaultdict
from collections.abc import Mapping

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, all_of, any_of, largest, longer_than, smallest, total
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, fact
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER, USAGE
from kafkascope_spark.stories.findings.wording import client, times
from kafkascope_spark.stories.incidents.texts.texts import KIP_800, slow_polls
from kafkascope_spark.stories.tables import CLIENTS

_EVENT = "conn_id, request_id, ts_ns, group_id"
_WHO = "client_instance_id, client_id, client_ip, group_id"
# One finding per client and group. A member must leave and join on the same connection: an application that closes a
# consumer and opens another one under the same name uses another connection.
_QUERY = f"""
with joins_and_leaves as (
    select {_EVENT}, true as leaves, get(members, 0).reason as reason, cast(null as bigint) as poll_ms
    from leave_group_requests
    union all
    select {_EVENT}, false, cast(null as string), rebalance_timeout_ms from join_group_requests
    union all
    select {_EVENT}, member_epoch = -1, cast(null as string), nullif(rebalance_timeout_ms, -1)
    from consumer_heartbeat_requests where member_epoch in (-1, 0)
), by_connection as (
    select {_WHO}, conn_id, max(poll_ms) as poll_ms, max(if(leaves, null, ts_ns)) as joined_ns,
        collect_set(if(leaves, struct(ts_ns, request_id, reason), null)) as departures
    from joins_and_leaves join (
        select explode(conn_ids) as conn_id, client_instance_id, client_id, client_ip, kind from rejoining_clients
    ) using (conn_id)
    where {NO_BROKER}
    group by {_WHO}, conn_id
), by_client as (
    select {_WHO}, max(poll_ms) as poll_ms, collect_set(conn_id) as conn_ids,
        array_sort(flatten(collect_list(
            filter(departures, d -> d.reason like '%{KIP_800}%' and d.ts_ns < joined_ns)))) as timeouts,
        array_sort(flatten(collect_list(
            filter(departures, d -> coalesce(d.reason, '') = '' and d.ts_ns < joined_ns)))) as unexplained
    from by_connection group by {_WHO}
), departures as (
    select *, if(size(unexplained) >= {limit.LEAVES}, array_sort(concat(timeouts, unexplained)), timeouts) as departed
    from by_client
)
select {_WHO}, poll_ms, conn_ids, size(departed) as n, size(timeouts) as n_timeouts, departed[0].ts_ns as first_ns,
    element_at(departed, -1).ts_ns as last_ns, departed.request_id as evidence
from departures where size(departed) > 0"""

_FIRST_NS, _LAST_NS, _N_LEAVES = smallest("ts_ns"), largest("last_ns"), total("n_leaves")
_JOINS_OR_LEAVES = (api_keys.JOIN_GROUP, api_keys.LEAVE_GROUP, api_keys.CONSUMER_GROUP_HEARTBEAT)
_MEMBERSHIP = ("conn_id", "api_key", str(_FIRST_NS), str(_LAST_NS), str(_N_LEAVES))


def _joins_after_it_leaves(tables: Tables) -> bool:
    """Whether a member may have left and joined again on one connection. With the consumer protocol heartbeats do both,
    so that one which leaves is enough."""
    spans: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for conn_id, api_key, first_ns, last_ns, n_leaves in rows_of(tables["membership"], *_MEMBERSHIP):
        if n_leaves or api_key == api_keys.JOIN_GROUP:
            spans[conn_id][api_key] = (first_ns, last_ns)
    return any(map(_may_leave_and_join, spans.values()))


def _may_leave_and_join(spans: Mapping[int, tuple[int, int]]) -> bool:
    """Whether the requests of a connection allow that. spans: first and last time of each API of _JOINS_OR_LEAVES."""
    joined, left = spans.get(api_keys.JOIN_GROUP), spans.get(api_keys.LEAVE_GROUP)
    if api_keys.CONSUMER_GROUP_HEARTBEAT in spans:
        return True
    return joined is not None and left is not None and left[0] < joined[1]


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} left group {f.group_id} {times(f.n)}{_reason(f)}, "
        f"first at {f.begin(f.first_ns)}"
    )


def _reason(f: Facts) -> str:
    if f.n_timeouts > 0:
        return f" as nobody had polled it for {_limit(f)}"
    return f" and joined it again each time, as clients do that nobody polls for {_limit(f)}"


def _limit(f: Facts) -> str:
    return "the time that it allows" if f.poll_ms is None else f"the {f.poll_ms} ms that it allows"


LEAVES_AND_REJOINS = Detector(
    # A client that joins a classic group again after leaving gets a new member id; with KIP-848 it keeps its own.
    reads={
        "rejoining_clients": Where(CLIENTS, any_of(member_ids=longer_than(1), group_protocol="consumer")),
        "membership": Groups(
            Where(USAGE, api_key=_JOINS_OR_LEAVES),
            per=("conn_id", "api_key"),
            having=all_of(NOT_NULL(_FIRST_NS), NOT_NULL(_LAST_NS), _N_LEAVES >= 0),
        ),
    },
    candidates=Candidates({"membership": _MEMBERSHIP}, _joins_after_it_leaves),
    query=_QUERY,
    subject=fact("group_id"),
    sentence=_sentence,
    advice=lambda f: slow_polls(f.libraries, f.poll_ms),
)
