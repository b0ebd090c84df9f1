"""To which failure a stall belongs: the first rule that applies. Each rule is one function.

A rule takes a stall and the failures of its time and of its client, and gives the failure to which the stall belongs,
or None.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafkascope_spark.incidents.client_failures import groups_of
from kafkascope_spark.incidents.failure import FOLLOWS_NS, SECOND, Failure
from kafkascope_spark.incidents.failure_index import Failures
from kafkascope_spark.incidents.other_failures import ERROR_KINDS

Row = dict[str, Any]
Rule = Callable[[Row, Sequence[Failure]], Failure | None]

_UNACKNOWLEDGED_STATES = frozenset({"silent", "lossy"})
"""States in which TCP waits longer and longer before it sends again: nothing acknowledges what was sent."""
LEAST_OVERLAP_NS = SECOND // 2
"""A stall belongs to a failure that it has so much time in common with, or half of the stall if that is less."""


def under_quota(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The quota that made brokers hold the client back meanwhile."""
    client = stall["client_instance_id"]
    return _longest_overlap(stall, (f for f in failures if f.kind == "quota" and client in f.client_instance_ids))


def at_failed_broker(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The failure of the broker that was waited on, while it did not serve the host that waited."""
    if stall["node_id"] is None:
        return None
    at_node = (f for f in failures if f.node_id == stall["node_id"] and f.reaches(stall["client_ip"]))
    return _longest_overlap(stall, (f for f in at_node if f.kind != "replication"))


def of_client_at_fault(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The client that stood still by itself, or that was not let in any longer: it waited, or its group did, whose
    records it should have fetched; or it had to find its place again when it went on."""
    about = [f for f in failures if f.kind == "client" and (_is_of(stall, f) or stall["group_id"] in groups_of(f))]
    during = _longest_overlap(stall, about)
    if during is not None:
        return during
    went_on = (f for f in about if _is_of(stall, f) and f.end_ns is not None and f.end_ns <= stall["from_ns"])
    return next((f for f in went_on if stall["from_ns"] <= (f.end_ns or 0) + FOLLOWS_NS), None)


def _is_of(stall: Row, failure: Failure) -> bool:
    return stall["client_instance_id"] in failure.client_instance_ids


def behind_failed_replica(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The failure of another broker while the one that was waited on served others: records wait until all in-sync
    replicas have them, and a group until its coordinator is back. Of several that lasted about as long, the one that
    began last: whoever was served while the others failed did not wait for them."""
    others = [f for f in failures if f.kind == "replication" or (f.is_of_broker and f.node_id != stall["node_id"])]
    longest = _longest_overlap(stall, others)
    if longest is None:
        return None
    half_ns = _overlap_of(stall, longest) // 2
    before = (f for f in others if f.start_ns <= stall["from_ns"] and _overlap_of(stall, f) >= half_ns)
    return max(before, key=lambda f: f.start_ns, default=longest)


def at_moved_resource(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """What errors show about the topic-partition, group or transactional id that waited: its leader or coordinator
    moved, access was denied, ..."""
    return _longest_overlap(stall, _about(stall, failures, ERROR_KINDS - {"member"}))


def at_lost_place(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """What errors show about members of the group that waited: they had lost their place in it."""
    return _longest_overlap(stall, _about(stall, failures, frozenset({"member"})))


def without_coordinator(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The failure for which a member of the group waited for its coordinator meanwhile: an application that commits
    synchronously reads nothing until the response is there."""
    if stall["group_id"] is None:
        return None
    waits = ((s, f) for f in failures for s in f.stalls if s["kind"] in ("commit", "membership"))
    of_group = [(s, f) for s, f in waits if s["group_id"] == stall["group_id"] and _began_during(stall, s)]
    return min(of_group, key=lambda each: (each[0]["from_ns"], each[0]["stall_id"]))[1] if of_group else None


def beside_cut_path(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The failed path of the client's host for most of the stall: a client that waits for one broker, most often its
    coordinator, may ask the others for nothing meanwhile (kafkajs awaits the response to each heartbeat)."""
    paths = [f for f in failures if f.kind == "path" and f.reaches(stall["client_ip"])]
    longest = _longest_overlap(stall, paths)
    if longest is None or 2 * _overlap_of(stall, longest) < stall["waited_ms"] * 1_000_000:
        return None
    return longest


def _began_during(stall: Row, other: Row) -> bool:
    return bool(other["from_ns"] <= stall["from_ns"] and (other["to_ns"] is None or stall["from_ns"] < other["to_ns"]))


def while_not_recovered(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The failure from which the client had not recovered, for the topic-partition, group or transactional id that
    waited: it still asked a broker that was lost, or that had handed it over; or it had no connection to it yet."""
    client, names = stall["client_instance_id"], _resources_of(stall)
    during = [
        (recovery["start_ns"], failure)
        for failure in failures
        for name in names | _server_of(stall, failure)
        for recovery in failure.recoveries_of.get((client, name), ())
        if _is_during(stall, recovery)
    ]
    return max(during, key=lambda each: each[0])[1] if during else None


def _server_of(stall: Row, failure: Failure) -> frozenset[str]:
    """The name of recoveries from a lost connection, where the stall waited for the failed broker."""
    if failure.server is None or failure.node_id != stall["node_id"]:
        return frozenset()
    return frozenset([failure.server])


def _is_during(stall: Row, recovery: Row) -> bool:
    """Whether the stall began before the client had recovered."""
    recovered_ns = recovery["recovered_ns"]
    if recovery["outcome"] == "served_elsewhere":
        return False
    is_over = recovered_ns is not None and recovered_ns <= stall["from_ns"]
    return not is_over and bool(recovery["start_ns"] <= stall["from_ns"] + LEAST_OVERLAP_NS)


def after_failed_broker(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The latest failure of a broker that was over shortly before, or at that moment: leaders and coordinators move
    back, and groups rebalance."""
    if stall["kind"] not in ("membership", "commit", "metadata", "transaction") and not stall["error_names"]:
        return None
    before = [
        f
        for f in failures
        if f.is_of_broker and f.end_ns is not None and f.start_ns <= stall["from_ns"] <= f.end_ns + FOLLOWS_NS
    ]
    return max(before, key=lambda f: f.end_ns or 0, default=None)


def until_sent_again(stall: Row, failures: Sequence[Failure]) -> Failure | None:
    """The failure after which a connection that outlived it was still silent: TCP doubles the time between its
    retransmissions (RFC 6298, 5.5), so the first one that arrives may come as long after the failure as that lasted.
    A client that had to connect again has a recovery."""
    client = stall["client_instance_id"]
    at_node = (f for f in failures if f.node_id is not None and f.node_id == stall["node_id"])
    outlived = (f for f in at_node if (client, f.server) not in f.recoveries_of)
    return next((f for f in outlived if any(_is_sent_again_after(state, stall) for state in f.states)), None)


def _is_sent_again_after(state: Row, stall: Row) -> bool:
    """Whether the stall lies in the time after the state in which TCP sends again what was lost in it."""
    if state["host"] != stall["client_ip"] or state["state"] not in _UNACKNOWLEDGED_STATES:
        return False
    if state["to_ns"] is None or stall["to_ns"] is None:
        return False
    longest_ns = state["to_ns"] - state["from_ns"]
    return bool(state["to_ns"] <= stall["from_ns"] and stall["to_ns"] <= state["to_ns"] + longest_ns)


RULES: tuple[Rule, ...] = (
    under_quota,
    at_failed_broker,
    of_client_at_fault,
    behind_failed_replica,
    at_moved_resource,
    while_not_recovered,
    after_failed_broker,
    until_sent_again,
)
"""In their order."""
AFTER_REBALANCES: tuple[Rule, ...] = (at_lost_place,)
"""For stalls that no rebalance explains either: a rebalance says why a member lost its place."""
BESIDE_OTHERS: tuple[Rule, ...] = (without_coordinator, beside_cut_path)
"""For what is left when the other stalls belong to failures."""


def failure_of(stall: Row, failures: Failures, rules: Iterable[Rule] = RULES) -> Failure | None:
    """The failure to which the stall belongs, by the first rule that applies; None where none does. A stall that spans
    several failures belongs to one that had begun when it began, if a rule gives one."""
    near = failures.at(stall["from_ns"], stall["to_ns"], stall["client_instance_id"])
    begun = [failure for failure in near if failure.start_ns <= stall["from_ns"] + SECOND]
    found = (rule(stall, some) for some in (begun, near) for rule in rules)
    return next((failure for failure in found if failure is not None), None)


def give_earlier_stalls(failures: Sequence[Failure]) -> None:
    """Gives each failed broker, path or replication the stalls of other such failures that went on while it did not
    serve their host: whoever stood still already waited for it too. Of several failures in a row only the last one
    lasts until such a stall is over. Who waits for a quota, a topic or a permission waits for no broker."""
    of_brokers = [failure for failure in failures if failure.states]
    known = Failures(of_brokers)
    for owner in of_brokers:
        for stall in owner.stalls:
            near = known.at(stall["from_ns"], stall["to_ns"])
            later = [f for f in near if f is not owner and f.start_ns > stall["from_ns"] and _kept_waiting(f, stall)]
            in_a_row = [owner, *sorted(later, key=lambda f: f.start_ns)]
            for failure in in_a_row[1:]:
                failure.earlier_stalls.append(stall)
            for failure in in_a_row[:-1]:
                failure.outlasting.add(stall["stall_id"])


def _kept_waiting(failure: Failure, stall: Row) -> bool:
    hosts = {state["host"] for state in failure.states}
    return stall["client_ip"] in hosts and failure.overlap_ns(stall["from_ns"], stall["to_ns"]) >= LEAST_OVERLAP_NS


def _about(stall: Row, failures: Iterable[Failure], kinds: frozenset[str]) -> Iterable[Failure]:
    """The failures of these kinds that are about what waited."""
    names = _resources_of(stall)
    return (f for f in failures if f.kind in kinds and not names.isdisjoint(f.resources))


def _longest_overlap(stall: Row, failures: Iterable[Failure]) -> Failure | None:
    """The failure that has the longest time in common with the stall; the earlier one of two."""
    overlaps = [(_overlap_of(stall, f), -f.start_ns, f) for f in failures]
    least = min(LEAST_OVERLAP_NS, stall["waited_ms"] * 500_000)
    best = max((o for o in overlaps if o[0] >= least), key=lambda o: o[:2], default=None)
    return best[2] if best is not None else None


def _overlap_of(stall: Row, failure: Failure) -> int:
    return failure.overlap_ns(stall["from_ns"], stall["to_ns"])


def _resources_of(stall: Row) -> frozenset[str]:
    """The names that a recovery's resource may have, if it is about what waited."""
    partition = f"{stall['topic']}-{stall['partition']}"
    return frozenset(filter(None, (partition, stall["topic"], stall["group_id"], stall["transactional_id"])))
