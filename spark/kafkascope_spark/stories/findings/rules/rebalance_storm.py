"""`rebalance_storm`: a group rebalances again and again."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, largest, smallest
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, Detector, Facts, Follows, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import USAGE
from kafkascope_spark.stories.findings.sql import MOST_EVIDENCE, literals, sorted_set
from kafkascope_spark.stories.findings.wording import counted, duration, times
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import CLIENTS

_GENERATION_APIS = {api_keys.SYNC_GROUP, api_keys.HEARTBEAT} | api_keys.GROUP_HEARTBEATS
_NEAR_NS = limit.STORM_APART_S * 10**9
_NEAR = f"{limit.STORM_APART_S} * 1000000000L"
_FIRST = smallest("ts_ns")
_SEEN_GENERATIONS = Groups(
    Where(REQUESTS, api_key=_GENERATION_APIS, group_id=NOT_NULL, generation_or_epoch=above(0)),
    per=("group_id", "generation_or_epoch"),
    having=_FIRST >= 0,
)
_SEEN = {"seen_generations": ("group_id", str(_FIRST))}
_SPAN = ("group_id", "first_ns", "last_ns", "end_state")
_OF_ANY_REBALANCE = ("REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED")
"""Errors that members get in each rebalance, or when they join."""
# One finding per group and sequence of rebalances with less than STORM_APART_S between them.
_QUERY = f"""
with generations as (
    select group_id, min(struct(ts_ns, request_id)) as seen, timestamp_micros(min(ts_ns) div 1000) as seen_at,
        collect_set(conn_id) as conn_ids, collect_set(node_id) as node_ids
    from requests left semi join restless_groups using (group_id)
    where api_key in {literals(_GENERATION_APIS)} and generation_or_epoch > 0
    group by group_id, generation_or_epoch
), sequences as (
    select group_id, count(*) as n, min(seen.ts_ns) as first_ns, max(seen.ts_ns) as last_ns,
        slice(array_sort(collect_list(seen)).request_id, 1, {MOST_EVIDENCE}) as evidence,
        array_sort(array_distinct(flatten(collect_list(conn_ids)))) as conn_ids,
        array_sort(array_distinct(flatten(collect_list(node_ids)))) as node_ids
    from generations
    group by group_id, session_window(seen_at, '{limit.STORM_APART_S} seconds')
    having count(*) >= {limit.STORM_REBALANCES}
), counts as (
    select s.group_id, n, s.first_ns, s.last_ns, evidence, s.conn_ids, node_ids,
        count_if(c.first_ns between s.first_ns - {_NEAR} and s.last_ns) as n_started,
        count_if(c.end_state != 'open' and c.last_ns between s.first_ns - {_NEAR} and s.last_ns) as n_ended,
        count_if(c.first_ns <= s.last_ns and c.last_ns >= s.first_ns) as n_members,
        {sorted_set("c.software_name")} as software_names
    from sequences s left join clients c on s.group_id = c.group_id
    group by s.group_id, n, s.first_ns, s.last_ns, evidence, s.conn_ids, node_ids
)
select counts.*, null as client_instance_id, a.assignor, a.protocol_type, e.refused_names
from counts left join (
    select c.group_id, {sorted_set("e.error_name")} as refused_names
    from counts c join errors e on e.group_id = c.group_id and e.ts_ns between c.first_ns and c.last_ns
    where e.error_name not in {literals(_OF_ANY_REBALANCE)} group by c.group_id
) e on e.group_id = counts.group_id left join (
    select group_id, max_by(assignor, start_ns) as assignor, max_by(protocol_type, start_ns) as protocol_type
    from rebalances group by group_id
) a on a.group_id = counts.group_id
where n - {limit.REBALANCES_EACH} * (n_started + n_ended) >= {limit.STORM_REBALANCES}
    or (n >= {limit.STORM_MANY} and last_ns - first_ns >= {_NEAR})"""


def _are_close(tables: Tables) -> bool:
    """Whether a group had STORM_REBALANCES generations with less than STORM_APART_S from each to the next."""
    return any(_sequences(tables))


def _are_more_than_members_explain(tables: Tables) -> bool:
    """Whether a group had that many generations beyond those that members which start and end explain, or STORM_MANY
    for any reason."""
    spans = defaultdict(list)
    for group_id, first_ns, last_ns, end_state in rows_of(tables["members"], *_SPAN):
        spans[group_id].append((first_ns, None if end_state in (None, "open") else last_ns))
    return any(_is_storm(times_ns, spans[group_id]) for group_id, times_ns in _sequences(tables))


def _is_storm(times_ns: list[int], spans: list[tuple[int | None, int | None]]) -> bool:
    """Whether a sequence of generations is a storm. times_ns: when each was seen first, ascending; spans: begin and end
    of each member, None where it is unknown."""
    first_ns, last_ns = times_ns[0], times_ns[-1]
    n_changes = sum(ns is not None and first_ns - _NEAR_NS <= ns <= last_ns for span in spans for ns in span)
    is_long = len(times_ns) >= limit.STORM_MANY and last_ns - first_ns >= _NEAR_NS
    return is_long or len(times_ns) - limit.REBALANCES_EACH * n_changes >= limit.STORM_REBALANCES


def _sequences(tables: Tables) -> Iterator[tuple[str, list[int]]]:
    """Yields each group with the times at which STORM_REBALANCES or more generations were seen first, with at most
    STORM_APART_S from each to the next."""
    seen_ns = defaultdict(list)
    for group_id, first_ns in rows_of(tables["seen_generations"], "group_id", str(_FIRST)):
        seen_ns[group_id].append(first_ns)
    for group_id, times_ns in seen_ns.items():
        times_ns.sort()
        ends = [at for at, ns in enumerate(times_ns[1:], 1) if ns - times_ns[at - 1] > _NEAR_NS]
        for start, end in zip([0, *ends], [*ends, len(times_ns)], strict=True):
            if end - start >= limit.STORM_REBALANCES:
                yield group_id, times_ns[start:end]


def _sentence(f: Facts) -> str:
    return (
        f"Group {f.group_id} rebalanced {times(f.n)} in {duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}, "
        f"while {counted(f.n_started, 'member')} started and {f.n_ended} ended, of {f.n_members} in all"
    )


def _is_of_assignor(f: Facts) -> bool:
    """Whether the same members cause all rounds: none of them ended, and few started."""
    return bool(f.n_ended == 0 and f.n_members > 0 and f.n >= limit.STORM_MANY > limit.REBALANCES_EACH * f.n_started)


def _own_advice(f: Facts) -> str:
    if not _is_of_assignor(f):
        return _advice(f.libraries)
    if f.refused_names:
        return (
            f"The coordinator refused members ({', '.join(f.refused_names)}), which began again after that: see the "
            "incident of these errors first. An assignor, or a timeout, does not cause them."
        )
    if f.protocol_type not in (None, "", "consumer"):
        return (
            f"The same members begin one round after the other, and nobody is thrown out: no timeout is to be raised. "
            f"It is a group of the type {f.protocol_type}: the log of its members says why they are not content with "
            "what they are given. Members of Kafka Connect join again until all of them have read the same "
            "configuration: see that each reads the topic of config.storage.topic to its end, that its committed end "
            "is the same for all, and that no other Connect cluster uses the same group.id with other topics."
        )
    name = "" if f.assignor is None else f" ({f.assignor})"
    return (
        "The same members begin one rebalance after the other, and no member is removed: do not raise timeouts. "
        f"Upgrade their library: an assignor{name} that is not satisfied with its own result begins the next "
        "rebalance at once, or members join again with each poll. Until then use another assignor in all members "
        "(range)."
    )


_BOTH_ASSIGNORS = " (to change the assignor of a running group, let members list both for one round of restarts)"


def _advice(libraries: Collection[str]) -> str:
    polls = setting("poll_records", libraries)
    lower = f" lower {polls} where polls take long." if polls else ""
    timeouts = " or ".join(filter(None, (setting(c, libraries) for c in ("session_timeout", "poll_interval"))))
    one_by_one = " or ".join(filter(None, (setting(c, libraries) for c in ("cooperative", "group_protocol"))))
    instead = f" Use {one_by_one}, so that members do not all stop{_BOTH_ASSIGNORS}." if one_by_one else ""
    static = setting("instance_id", libraries)
    restarts = f" For restarts give each member a name of its own ({static})." if static else ""
    return (
        "See the incident of the group, or evicted_member, first: they say why members were removed. Raise "
        f"{timeouts} only where members were silent or polled late;{lower}{restarts}{instead} Keep members from "
        "restarting in a loop."
    )


DETECTOR = Detector(
    reads={
        "restless_groups": Groups(
            Where(USAGE, api_key=_GENERATION_APIS, highest_generation=NOT_NULL, group_id=NOT_NULL),
            per=("group_id",),
            having=largest("highest_generation") - smallest("lowest_generation") >= limit.STORM_REBALANCES - 1,
        ),
        "seen_generations": _SEEN_GENERATIONS,
        "members": Where(CLIENTS),
    },
    candidates=Candidates(
        _SEEN,
        _are_close,
        then=Candidates({**_SEEN, "members": _SPAN}, _are_more_than_members_explain),
    ),
    query=_QUERY,
    subject=fact("group_id"),
    sentence=_sentence,
    advice=_own_advice,
)
RULE = Rule(
    name="rebalance_storm",
    title="A group rebalances again and again",
    severity="warning",
    meaning="With each rebalance of an eager group all members stop; in other groups those whose partitions move. A "
    "group that rebalances all the time reads little, and reads much of it twice.",
    looks_at="Generations (member epochs with KIP-848) in heartbeats and SyncGroup, less than "
    f"{limit.STORM_APART_S // 60} minutes from one to the next: at least {limit.STORM_REBALANCES} more than members "
    f"that start and end explain ({limit.REBALANCES_EACH} each), or {limit.STORM_MANY} within some minutes for any "
    "reason.",
    advice=_advice(()),
    sources=("KIP-345", "KIP-429", "KIP-848", "KIP-62"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=BROKER_FAILURES | {"coordinator_move", "member", "client", "outsider", "broker_error"}),
)
