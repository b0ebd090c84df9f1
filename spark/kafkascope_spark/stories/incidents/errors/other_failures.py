"""Failures that states of brokers do not show: group members that died or were slow, moves of leaders and coordinators,
permissions, quotas, missing topics; and stalls that nothing in the capture explains."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.errors.lost_records import is_final
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, Kind
from kafkascope_spark.stories.incidents.failures.failure_index import Failures, Key, KeyedStretches
from kafkascope_spark.stories.incidents.failures.topics import is_of_group, topic_of
from kafkascope_spark.stories.incidents.kinds import KIND_OF_ERROR
from kafkascope_spark.stories.incidents.kinds.epoch_ahead import EPOCH_AHEAD, is_ahead
from kafkascope_spark.stories.incidents.kinds.leader_move import LEADER_MOVE
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC
from kafkascope_spark.stories.incidents.kinds.outsider import OUTSIDER
from kafkascope_spark.stories.incidents.kinds.topic_created import TOPIC_CREATED, is_of_new_topic
from kafkascope_spark.stories.incidents.kinds.unexplained import UNEXPLAINED
from kafkascope_spark.stories.incidents.kinds.wrong_broker import WRONG_BROKER, of_wrong_broker
from kafkascope_spark.stories.incidents.packets.leadership import Leader
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.table import Stall

NOT_MOVED: Mapping[str, Leader] = {}
ONE_INCIDENT_NS = 2 * SECOND
"""Errors of one kind, or unexplained stalls, with less time than this between them belong to one incident."""


def of_rebalances(stalls: Iterable[Stall], rebalances: Iterable[RebalanceRow]) -> Iterator[Failure]:
    """Yields the failures of members, each with the stalls of a group that rebalances explain. Other stalls are left
    out."""
    of_group: dict[str, list[RebalanceRow]] = defaultdict(list)
    for row in rebalances:
        of_group[row.group_id].append(row)
    of_group_by_time = {group_id: _Rebalances(rows) for group_id, rows in of_group.items()}
    failures: list[Failure] = []
    taken: set[tuple[Failure, str]] = set()
    for stall in sorted(stalls, key=lambda s: (s.group_id or "", s.from_ns, s.stall_id)):
        of_its_group = of_group_by_time.get(stall.group_id or "")
        rebalance = of_its_group.explaining(stall) if of_its_group is not None else None
        if rebalance is None:
            continue
        last = failures[-1] if failures else None
        if last is None or last.stalls[-1].group_id != stall.group_id or not _goes_on(last, stall):
            last = Failure(MEMBER, f"group {stall.group_id}", stall.from_ns, stall.to_ns)
            failures.append(last)
        last.stalls.append(stall)
        last.end_ns = _later_end(last.end_ns, stall.to_ns)
        if (last, rebalance.rebalance_id) not in taken:
            taken.add((last, rebalance.rebalance_id))
            last.rebalances.append(rebalance)
            last.start_ns = min([last.start_ns, *_last_seen(rebalance)])
    yield from failures


class _Rebalances:
    """The rebalances of one group. A rebalance without an end counts as over when the next one begins."""

    def __init__(self, rows: Iterable[RebalanceRow]) -> None:
        self._all: KeyedStretches[tuple[int, RebalanceRow]] = KeyedStretches()
        listed = list(rows)
        starts = sorted(row.start_ns or 0 for row in listed)
        for place, row in enumerate(listed):
            following = bisect_right(starts, row.start_ns or 0)
            end_ns = row.end_ns or (starts[following] if following < len(starts) else None)
            self._all.add(("evicting", bool(row.lost)), _since_ns(row), end_ns, (place, row))

    def explaining(self, stall: Stall) -> RebalanceRow | None:
        """Returns the rebalance that explains a stall: the first overlapping one in which a member was removed, else
        the first overlapping one. A removed member was silent before its removal, so its rebalance counts from the last
        request of that member; if it was the only member, the group rebalances when it is back."""
        for is_evicting in (True, False):
            during = self._all.of(("evicting", is_evicting)).first(stall.from_ns, stall.to_ns or FOREVER)
            if during is not None:
                return during[1]
        return None


def _since_ns(rebalance: RebalanceRow) -> int:
    """Returns when the rebalance began, or when one of the removed members sent its last request, if that is
    earlier."""
    return min([rebalance.start_ns or 0, *_last_seen(rebalance)])


def _last_seen(rebalance: RebalanceRow) -> list[int]:
    """Returns the times of the last requests of the members that the group removed."""
    return [member.last_seen_ns for member in rebalance.lost if member.last_seen_ns]


def give_places(members: Iterable[Failure], failures: Iterable[Failure], clients: Mapping[str, AffectedClient]) -> None:
    """Sets, as root of each failure of members, the failed path or host because of which none of the lost members could
    reach the coordinator, or from which clients came back that were no longer members. failures: of brokers, paths and
    hosts; clients: by client_instance_id."""
    places = Failures(failures, _keys_of_place)
    for member in members:
        cut = [_place_of(gone, row, places, clients) for row in member.rebalances for gone in row.lost]
        if not cut:
            cut = [_host_before(row.client_ip, member, places) for row in member.recoveries]
        if cut and None not in cut:
            member.root = cut[0]


def _keys_of_place(failure: Failure) -> Iterator[Key]:
    """Yields the keys of a failed path or host; none for other failures."""
    if failure.kind.of_path:
        yield from (("path", (failure.node_id, host)) for host in failure.hosts)
    elif failure.kind.of_host:
        yield from (("host", host) for host in failure.hosts)


def _place_of(
    departed: DepartedMember, rebalance: RebalanceRow, places: Failures, clients: Mapping[str, AffectedClient]
) -> Failure | None:
    """Returns the failed host of the member, or the failed path between it and its coordinator, if it failed for most
    of the time since the member's last request; else None."""
    client, since_ns = clients.get(departed.client_instance_id or ""), departed.last_seen_ns
    if client is None or not since_ns or rebalance.start_ns is None:
        return None
    keys: list[Key] = [("host", client.client_ip), ("path", (rebalance.node_id, client.client_ip))]
    mine = places.longest(keys, since_ns, rebalance.start_ns)
    return mine[1] if mine is not None and 2 * mine[0] >= rebalance.start_ns - since_ns else None


def _host_before(client_ip: str | None, member: Failure, places: Failures) -> Failure | None:
    """Returns the failure of the host of a client that got errors about its membership, if the host failed meanwhile or
    shortly before; else None."""
    since_ns = member.start_ns
    return next(iter(places.latest(("host", client_ip), since_ns - FOLLOWS_NS, since_ns)), None)


def _goes_on(failure: Failure, stall: Stall) -> bool:
    return all(s.to_ns is None or stall.from_ns <= s.to_ns + ONE_INCIDENT_NS for s in failure.stalls[-1:])


def of_errors(recoveries: Iterable[ClientRecovery], moved: Mapping[str, Leader] = NOT_MOVED) -> list[Failure]:
    """Returns the failures that errors show by themselves. Errors of one kind at about the same time are one failure;
    each missing or denied topic is a failure of its own, and failed commits of a client at that time belong to the
    topic that it missed. moved: leader at another broker by recovery_id; these topic-partitions are not missing."""
    known = [row for row in recoveries if row.first_error_name in KIND_OF_ERROR and not _is_brief(row)]
    misled = of_wrong_broker(known, moved)
    commits = [row for row in known if _is_commit_for_missing_topic(row)]
    found = list(_by_subject((row for row in known if not _is_commit_for_missing_topic(row)), moved, misled))
    found += _by_subject(_without_topic(commits, found))
    for failure in found:
        if failure.kind.complete is not None:
            failure.kind.complete(failure)
    return found


def _is_brief(recovery: ClientRecovery) -> bool:
    """Whether the errors of a kind that must last were too short: the client succeeded, or the capture shows nothing of
    it afterwards."""
    if is_final(recovery) or not KIND_OF_ERROR[recovery.first_error_name].lasting:
        return False
    return recovery.last_failed_ns - recovery.start_ns < SECOND


def _is_commit_for_missing_topic(recovery: ClientRecovery) -> bool:
    """Whether a group could not commit offsets for a missing topic, which the recovery does not name."""
    return KIND_OF_ERROR[recovery.first_error_name] is MISSING_TOPIC and is_of_group([recovery])


def _without_topic(commits: Iterable[ClientRecovery], failures: Iterable[Failure]) -> list[ClientRecovery]:
    """Attributes each recovery from a failed commit to the topic that its client missed at that time. Returns those of
    clients that missed none. failures: in order of their starts."""
    missed: dict[str, deque[Failure]] = defaultdict(deque)
    for failure in failures:
        if failure.kind is MISSING_TOPIC:
            for client in failure.client_instance_ids:
                missed[client].append(failure)
    left = []
    for row in sorted(commits, key=_order):
        at_ns, topics = row.start_ns, missed[row.client_instance_id]
        while topics and _is_long_over(topics[0], at_ns):
            topics.popleft()  # it is also over for all later commits
        if not topics or at_ns < topics[0].start_ns - ONE_INCIDENT_NS:
            left.append(row)
        else:
            topics[0].take_error(row)
    return left


def _is_long_over(failure: Failure, at_ns: int) -> bool:
    return failure.end_ns is not None and at_ns > failure.end_ns + ONE_INCIDENT_NS


def _order(recovery: ClientRecovery) -> tuple[int, str, str]:
    """By time. One response may have errors for several resources: ids, which depend on addresses, must not decide
    which of them an incident is named for."""
    return recovery.start_ns, recovery.resource, recovery.recovery_id


def _by_subject(
    recoveries: Iterable[ClientRecovery],
    moved: Mapping[str, Leader] = NOT_MOVED,
    misled: Collection[str] = frozenset(),
) -> Iterator[Failure]:
    """Yields failures made from recoveries whose errors have a kind. moved: recoveries (recovery_id) that count as
    leader moves, whatever their error; misled: recoveries (recovery_id) whose requests reached a wrong broker, which
    are one failure, however far apart they are."""
    last_of: dict[str, Failure] = {}
    for row in sorted(recoveries, key=_order):
        kind = WRONG_BROKER if row.recovery_id in misled else _kind_of(row, moved)
        subject = topic_of(row) or row.resource if kind.by_topic else row.resource
        key = f"{kind.name} {subject if kind.by_topic else ''}"
        failure = last_of.get(key)
        if failure is None or (kind is not WRONG_BROKER and _is_long_over(failure, row.start_ns)):
            failure = last_of[key] = Failure(kind, subject, row.start_ns, row.start_ns)
            yield failure
        failure.take_error(row)
        if row.recovery_id in moved:
            failure.topic.moved_to.setdefault(row.resource, moved[row.recovery_id])


def _kind_of(recovery: ClientRecovery, moved: Mapping[str, Leader]) -> Kind:
    if is_ahead(recovery):
        return EPOCH_AHEAD
    if recovery.recovery_id in moved:
        return LEADER_MOVE
    if is_of_new_topic(recovery):
        return TOPIC_CREATED
    return OUTSIDER if recovery.of_outsider else KIND_OF_ERROR[recovery.first_error_name]


def of_unexplained(stalls: Iterable[Stall]) -> Iterator[Failure]:
    """Yields failures of which the capture shows only the stalls; stalls of the same time are one failure."""
    failure: Failure | None = None
    for stall in sorted(stalls, key=lambda s: (s.from_ns, s.stall_id)):
        if failure is None or _is_long_over(failure, stall.from_ns):
            failure = Failure(UNEXPLAINED, "", stall.from_ns, stall.to_ns)
            yield failure
        failure.stalls.append(stall)
        failure.end_ns = _later_end(failure.end_ns, stall.to_ns)


def _later_end(one_ns: int | None, other_ns: int | None) -> int | None:
    return None if one_ns is None or other_ns is None else max(one_ns, other_ns)
