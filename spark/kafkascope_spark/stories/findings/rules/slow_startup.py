"""`slow_startup`: a client took long to start; the finding shows which steps took the time."""

from collections.abc import Collection

from kafkascope_spark.stories.findings.conditions import at_least
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import BROKER_FAILURES, MOVES, Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.thresholds import SLOW_START_MS
from kafkascope_spark.stories.findings.wording import client, duration
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import STARTUPS

MOST_REQUESTS = 10
"""Largest number of requests of one step in the evidence."""
LEAST_ALIKE = 3
"""Fewest starts of one kind whose median shows the usual time."""
# Before its first Produce a client waits until its application has something to send.
_NOTHING_TO_DO = "wait_why = 'no_records' or step = 'first_produce'"
_OWN_US = f"if(broker_why in ('rebalance', 'long_poll'), 0, duration_us) + if({_NOTHING_TO_DO}, 0, wait_us)"
# One finding per start that became ready. Steps are those on the critical path, with all attempts of a step together.
# Brokers connect to each other when they have something to say, however long they have been running.
_QUERY = f"""
with usual as (
    select expected_sequence, cast(percentile(total_ms, 0.5) * 1000000 as bigint) as usual_ns, count(*) as n_alike
    from startups where outcome = 'ready' group by expected_sequence
), attempts as (
    select startup_id, seq, coalesce(duration_us, 0) as duration_us, coalesce(wait_us, 0) as wait_us, broker_us,
        coalesce(broker_why, '') as broker_why, coalesce(wait_why, '') as wait_why, step,
        coalesce(subject, '') as subject, error_name, conn_id, node_id, request_ids
    from startup_steps left semi join slow_starts using (startup_id) where on_critical_path
), steps as (
    select startup_id, step, subject, sum({_OWN_US}) as own_us, sum(duration_us + wait_us) as all_us,
        max(struct(duration_us + wait_us as took_us, duration_us, wait_us, broker_us, broker_why, wait_why)) as longest,
        count(*) as n_tries, min_by(error_name, seq) as error_name, collect_set(conn_id) as conn_ids,
        collect_set(node_id) as node_ids,
        slice(flatten(array_sort(collect_list(struct(seq, request_ids))).request_ids), 1, {MOST_REQUESTS})
            as request_ids
    from attempts group by startup_id, step, subject
), ranked as (
    select startup_id, sum(own_us) as own_us,
        max(struct(all_us, step, subject, longest, n_tries, error_name)) as worst,
        flatten(collect_list(conn_ids)) as conn_ids, array_distinct(flatten(collect_list(node_ids))) as node_ids,
        flatten(array_sort(collect_list(struct(-all_us as sort_key, step, subject, request_ids))).request_ids) as ids
    from steps group by startup_id
)
select s.client_instance_id, client_id, client_ip, total_ms, start_ns as first_ns, ready_ns as last_ns, ranked.conn_ids,
    ranked.node_ids,
    worst.n_tries as n, worst, usual_ns, coalesce(n_alike, 0) as n_alike,
    if(own_us div 1000 >= {SLOW_START_MS}, 'warning', 'info') as severity,
    array_union(ids, s.evidence) as evidence
from slow_starts s join ranked on s.startup_id = ranked.startup_id
left join usual on s.expected_sequence = usual.expected_sequence
join clients c on s.client_instance_id = c.client_instance_id and c.kind <> 'broker'"""


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} took {duration(f.total_ms * 1_000_000)} to start, from "
        f"{f.begin(f.first_ns)} on; {duration(f.worst['all_us'] * 1_000)} of it for "
        f"{f.worst['step'].replace('_', ' ')}{_tries(f)}: {_cause(f)}{_others(f)}"
    )


def _tries(f: Facts) -> str:
    if f.worst["n_tries"] == 1:
        return ""
    error = "" if f.worst["error_name"] is None else f", {f.worst['error_name']}"
    return f" ({f.worst['n_tries']} tries{error})"


def _cause(f: Facts) -> str:
    longest = f.worst["longest"]
    took_us, broker_us = longest["duration_us"], longest["broker_us"] or 0
    if longest["wait_us"] > took_us:
        return f"the client {'paused' if longest['wait_why'] == 'backoff' else 'waited'} before it"
    if broker_us * 2 > took_us:
        return "the group waited for its members" if longest["broker_why"] == "rebalance" else "the broker took it"
    return "the network or connecting took it"


def _others(f: Facts) -> str:
    if f.n_alike < LEAST_ALIKE:
        return ""
    return f"; half of the {f.n_alike} starts of its kind take {duration(f.usual_ns)} or less"


def _advice(libraries: Collection[str]) -> str:
    connect = setting("connect_timeout", libraries, defaults=True)
    limit = f" ({connect})" if connect else ""
    return (
        "Look at the step named (kafkascope timeline shows all of them): names and connecting: DNS, bootstrap "
        f"addresses ({setting('bootstrap', libraries)}) that do not answer{limit}; coordinator and metadata: brokers "
        f"that are still starting; join group: members that poll rarely ({setting('poll_interval', libraries)}), "
        "group.initial.rebalance.delay.ms of the brokers."
    )


DETECTOR = Detector(
    reads={"slow_starts": Where(STARTUPS, outcome="ready", claimed=False, total_ms=at_least(SLOW_START_MS))},
    query=_QUERY,
    subject=lambda f: f"{f.worst['step']} {f.worst['subject']}",
    sentence=_sentence,
    advice=lambda f: _advice(f.libraries),
)
RULE = Rule(
    name="slow_startup",
    title="A client took long to start",
    severity="warning",
    meaning="From the first SYN to the first records or the first acknowledgement it took longer than any of the "
    "waits that a start consists of by default. The finding names the step that had most of the time, and whose "
    "time it was: the broker's, the network's, the client's own pauses, or the other members of its group.",
    looks_at="Starts that ended ready after ten seconds or more, by the steps on their critical path. It is info "
    "where the time was a rebalance's or there was nothing to read or to send. Starts of encrypted clients are left "
    "out: what they waited for is not known.",
    advice=_advice(()),
    sources=("KIP-601", "KIP-134", "KIP-62"),
    detectors=(DETECTOR,),
    follows=Follows(
        kinds=BROKER_FAILURES
        | MOVES
        | {"replication", "listener", "quota", "client", "member", "member_fenced", "connection_limit"},
        half_of_time=True,
        keeps_advice=False,
    ),
    unless=("access_denied", "auth_failed", "missing_topic", "not_enough_replicas"),
)
