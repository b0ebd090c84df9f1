"""Attributes each stall to a failure by the first rule that applies. Each rule is one function.

A rule takes a stall and the failures that concern its time and its client. It returns the failure to which the stall
belongs, or None.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from operator import attrgetter, itemgetter

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_parsers.error_facts import PERMISSION_DENIED
from kafkascope_spark.stories.incidents.attribution.recovery_attribution import MAY_OUTLAST
from kafkascope_spark.stories.incidents.attribution.stall_candidates import (
    LEAST_OVERLAP_NS,
    OF_NAMED_NODES,
    OF_UNKNOWN_NODES,
    Candidates,
    KnownFailures,
)
from kafkascope_spark.stories.incidents.clients.left_out import has_left_out
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_index import Failures, Key
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.stalls.table import Stall

Rule = Callable[[Stall, Candidates], Failure | None]

MOST_LATER = 20
"""Largest number of later failures that list one stall among their earlier stalls. The limit is needed because hundreds
of brokers may fail one after the other while thousands of clients wait."""


def under_quota(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the quota for which brokers throttled the client during the stall."""
    return _failure(among.longest([("quota", stall.client_instance_id)]))


def denied(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the missing permission that the client's errors name. A broker that fails at the same time is not the
    cause."""
    of_client = ((stall.client_instance_id, name) for name in stall.error_names if name in PERMISSION_DENIED)
    return _failure(among.longest(("error", each) for each in of_client))


def at_unreachable_host(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of the host on which the client runs."""
    return _failure(among.longest([("host", stall.client_ip)]))


def at_failed_broker(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of the broker that the client waited for, if that broker did not serve the client's host. One
    that only responded late explains no stall that went on for long when it no longer did."""
    if stall.node_id is None:
        return None

    def explains(failure: Failure) -> bool:
        return failure.reaches(stall.client_ip) and not _goes_on(stall, failure)

    return _failure(among.longest([("node", stall.node_id)], explains))


def _goes_on(stall: Stall, failure: Failure) -> bool:
    """Whether most of a stall came when a broker that only responded late did so no longer."""
    serves = failure.is_of_broker and not failure.kind.cuts_clients
    return serves and 2 * _overlap_of(stall, failure) < stall.waited_ms * 1_000_000


def on_lost_connections(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the loss of the connections of the client's host, or of the broker that the client waited for, at the
    time of which the stall began: a client that waits for a response does not learn that its connection is gone."""
    since = stall.from_ns
    of_host = among.known.by_key.latest(("host", stall.client_ip), since - SECOND, since + SECOND)
    of_broker = among.known.by_key.latest(("path", stall.client_ip), since - SECOND, since + SECOND)
    at_it = (failure for failure in of_broker if failure.node_id in (None, stall.node_id))
    lost = (failure for failure in (*of_host, *at_it) if failure.kind.loses_flows and among.has(failure))
    return next(lost, None)


def of_client_at_fault(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of a client that stalled by itself or was no longer accepted, where that client or its group
    waited: the group waits for records that the client should have fetched."""
    return _failure(among.longest([("client", stall.client_instance_id), ("group", stall.group_id)]))


def after_client_at_fault(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of the client that waited, if that was over shortly before: the client must join again when
    it goes on. What failed during the stall explains more."""
    over = among.just_over(("client", stall.client_instance_id))
    return min(over, key=lambda failure: failure.misuse is not None, default=None)


def behind_failed_replica(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of another broker, where the broker that the client waited for served others: records wait
    until all in-sync replicas have them, and a group waits until its coordinator is back. Of several failures that
    lasted about as long, it is the one that began last: a client that was served during the others did not wait for
    them. Brokers between which packets are lost keep only those waiting who wait for one of the two."""

    def is_other(failure: Failure) -> bool:
        if failure.kind.between_brokers and failure.is_lossy:
            return stall.node_id is None or stall.node_id in {row.node_id for row in failure.states}
        is_other = failure.kind.between_brokers or failure.node_id != stall.node_id
        return is_other and not _goes_on(stall, failure)

    keys = [OF_NAMED_NODES] if stall.node_id is None else [OF_NAMED_NODES, OF_UNKNOWN_NODES]
    longest = among.longest(keys, is_other)
    if longest is None:
        return None
    before = [f for key in keys for f in islice(filter(is_other, among.before(key, longest[0] // 2)), 1)]
    return max(among.known.by_key.in_order(before), key=lambda f: f.start_ns, default=longest[1])


def at_unserved_address(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of an address at which nobody was served meanwhile, or which refused what it had taken
    before, if the client tried to connect there for most of the stall: a leader or coordinator may have moved to the
    broker that gives this address."""
    longest = among.longest([("listener", stall.client_instance_id)])
    if longest is None or 2 * longest[0] < stall.waited_ms * 1_000_000:
        return None
    return longest[1]


def at_moved_resource(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure that errors show for the topic-partition, group or transactional id of the stall: its leader
    or coordinator moved, access was denied, ..."""
    keys = (("resource", name) for name in _resources_of(stall))
    return _failure(among.longest(keys, lambda failure: not has_left_out(stall, failure)))


def at_lost_place(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure that errors show for members of the stalled group: they are no longer known as members."""
    return _failure(among.longest(("member", name) for name in _resources_of(stall)))


def without_coordinator(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure because of which a member of the group waited for its coordinator during the stall: an
    application that commits synchronously reads nothing until it has the response."""
    if stall.group_id is None:
        return None
    waiting = among.known.waiting(stall.group_id, stall.from_ns)
    of_group = [each for each in waiting if among.has(each[2])]
    return min(of_group, key=itemgetter(0, 1))[2] if of_group else None


def beside_cut_path(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failed path of the client's host, if it lasted for most of the stall: a client that waits for one
    broker, most often its coordinator, may send nothing to the others (kafkajs awaits the response to each
    heartbeat)."""
    longest = among.longest([("path", stall.client_ip)])
    if longest is None or 2 * longest[0] < stall.waited_ms * 1_000_000:
        return None
    return longest[1]


def at_unnamed_broker(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of a broker without a known node id that did not serve the client's host for most of the
    stall, where the node that the client waited for is not known either: no Metadata response of that time is
    captured."""
    longest = None if stall.node_id is not None else among.longest([("unnamed", stall.client_ip)])
    if longest is None or 2 * longest[0] < stall.waited_ms * 1_000_000:
        return None
    return longest[1]


def while_kept_out(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure that kept the client's host from connecting during the stall: a name server that did not
    answer, a connection limit, a listener that accepted no connection."""
    return _failure(among.longest([("kept_out", stall.client_ip)]))


def with_the_same_error(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure that is shown by an error which the same client got during the stall, for any request: a
    producer gets the errors of its transactional id also for the topic-partitions that it writes to."""
    return _failure(among.longest(("error", (stall.client_instance_id, name)) for name in stall.error_names))


def beside_own_stalls(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of another stall of the same client at the same broker, if both overlap for most of this one:
    brokers answer the requests of a connection in order."""
    longest = among.known.own_stalls(stall)
    if longest is None or 2 * longest[0] < stall.waited_ms * 1_000_000:
        return None
    return longest[1]


def while_not_recovered(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure from which the client had not yet recovered, for the topic-partition, group or transactional
    id of the stall: it still sent requests to a broker that was lost or that had handed the resource over, or it had no
    connection to the new one yet."""
    client = stall.client_instance_id
    keys: list[Key] = [("resource", (client, name)) for name in sorted(_resources_of(stall))]
    found = (among.recovering(key) for key in (*keys, ("node", (client, stall.node_id))))
    waiting = (each for each in found if each is not None and not has_left_out(stall, each[1]))
    last = max(waiting, key=itemgetter(0), default=None)
    return None if last is None else last[1]


def after_failed_broker(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the latest failure of a broker that ended when the stall began or shortly before: leaders and
    coordinators move back then, and groups rebalance."""
    if stall.kind not in ("membership", "commit", "metadata", "transaction", "admin") and not stall.error_names:
        return None
    last = among.known.over_last(stall.from_ns)
    if last is None or stall.from_ns > (last.end_ns or 0) + FOLLOWS_NS:
        return None
    return None if _outlasts(stall, (last.end_ns or 0) + FOLLOWS_NS) else last


def _outlasts(stall: Stall, until_ns: int) -> bool:
    """Whether a client still got errors after until_ns that have a cause of their own if they last."""
    return not MAY_OUTLAST.isdisjoint(stall.error_names) and (stall.to_ns is None or stall.to_ns > until_ns)


def while_replicas_catch_up(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure of a broker that is over, but for which others still waited when a producer stalled: the
    broker's replicas catch up, and clients send everything at once that they could not send before."""
    return among.known.still_waited_for(stall.from_ns) if stall.kind == "produce" else None


def until_sent_again(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the failure after which a surviving connection was still silent: TCP doubles the time between its
    retransmissions (RFC 6298, 5.5), so the first one that arrives may come as long after the failure as the failure
    lasted. Only for connections that survived: a client that had to connect again has a recovery from that."""
    client = stall.client_instance_id

    def is_outlived(failure: Failure) -> bool:
        recoveries = failure.recoveries_of.get((client, failure.server), ()) if client and failure.server else ()
        return all(recovery.first_error_name == "RESPONSE_LATE" for recovery in recoveries)

    outlived = filter(is_outlived, among.known.sent_again(stall))
    return next(iter(among.known.by_key.in_order(filter(among.has, outlived))), None)


def before_packets_were_lost(stall: Stall, among: Candidates) -> Failure | None:
    """Returns the packet loss on the link of the client's host that was seen first after the stall began, if it may
    have begun before: packets wait in a queue before the full queue drops them."""
    later = among.known.by_key.after(("host", stall.client_ip), stall.from_ns)
    first = next((failure for _, failure in later if failure.is_lossy), None)
    may_have_begun = first is not None and min(state.before_ns for state in first.states) <= stall.from_ns
    return first if may_have_begun else None


RULES: tuple[Rule, ...] = (
    under_quota,
    denied,
    at_unreachable_host,
    at_failed_broker,
    on_lost_connections,
    of_client_at_fault,
    behind_failed_replica,
    at_unserved_address,
    at_moved_resource,
    while_not_recovered,
    after_client_at_fault,
    after_failed_broker,
    until_sent_again,
)
"""The rules in the order in which they are tried."""
AFTER_REBALANCES: tuple[Rule, ...] = (at_lost_place,)
"""Rules for stalls that no rebalance explains: a rebalance already says why a member is no longer known."""
BESIDE_OTHERS: tuple[Rule, ...] = (
    without_coordinator,
    beside_cut_path,
    at_unnamed_broker,
    while_kept_out,
    with_the_same_error,
    beside_own_stalls,
    while_replicas_catch_up,
    before_packets_were_lost,
)
"""Rules for the stalls that are left when the others have been attributed."""


def attribute_stalls(stalls: Iterable[Stall], known: KnownFailures, rules: Sequence[Rule] = RULES) -> list[Stall]:
    """Adds each stall to its failure. Returns the stalls that belong to no failure."""
    left = []
    for stall in sorted(stalls, key=attrgetter("from_ns", "stall_id")):
        failure = _failure_of(stall, known, rules)
        if failure is None:
            left.append(stall)
        else:
            failure.stalls.append(stall)
            known.add_stall(stall, failure)
    return left


def _failure_of(stall: Stall, known: KnownFailures, rules: Iterable[Rule]) -> Failure | None:
    """Returns the failure of a stall by the first rule that applies; None if no rule applies. Failures that had begun
    when the stall began are tried first, as a stall may span several failures."""
    begun = (Candidates(known, stall, begun_by_ns) for begun_by_ns in (stall.from_ns + SECOND, FOREVER))
    found = (rule(stall, among) for among in begun for rule in rules)
    return next((failure for failure in found if failure is not None), None)


def give_earlier_stalls(failures: Sequence[Failure]) -> None:
    """Gives each failed broker, path or replication the stalls of other such failures that went on while it did not
    serve their host: whoever had stalled already waited for it too. Of several failures in a row only the last one
    lasts until such a stall is over. Who waits for a quota, a topic or a permission waits for no broker."""
    of_brokers = [failure for failure in failures if failure.states]
    known = Failures(of_brokers, lambda failure: (("host", state.host) for state in failure.states))
    for owner in of_brokers:
        for stall in owner.stalls:
            later = _later_failures(known, owner, stall)
            in_a_row = [owner, *later]
            for failure in in_a_row[1:]:
                failure.earlier_stalls.append(stall)
            for failure in in_a_row[:-1]:
                failure.outlasting.add(stall.stall_id)


def _later_failures(known: Failures, owner: Failure, stall: Stall) -> list[Failure]:
    """The failures for the host that stalled that began during the stall and kept it waiting, in order of time: the
    first, and the last one, up to MOST_LATER."""
    key, since_ns = ("host", stall.client_ip), stall.from_ns
    last_ns = (FOREVER if stall.to_ns is None else stall.to_ns) - LEAST_OVERLAP_NS

    def kept_waiting(failure: Failure) -> bool:
        return failure is not owner and failure.start_ns > since_ns and _overlap_of(stall, failure) >= LEAST_OVERLAP_NS

    after = takewhile(lambda each: each[0] <= last_ns, known.after(key, since_ns))
    first = list(islice((failure for _, failure in after if kept_waiting(failure)), MOST_LATER))
    if len(first) == MOST_LATER:
        first[-1] = next(filter(kept_waiting, known.latest(key, since_ns, last_ns)))
    return first


def _failure(found: tuple[int, Failure] | None) -> Failure | None:
    return None if found is None else found[1]


def _overlap_of(stall: Stall, failure: Failure) -> int:
    return failure.overlap_ns(stall.from_ns, stall.to_ns)


def _resources_of(stall: Stall) -> frozenset[str]:
    """The names that a recovery's resource may have, if it is about what waited."""
    partition = stall.topic and f"{stall.topic}-{stall.partition}"
    return frozenset(filter(None, (partition, stall.topic, stall.group_id, stall.transactional_id)))
