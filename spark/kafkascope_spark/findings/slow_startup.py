"""`slow_startup`: a client took long to get going, and where the time went."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import CLIENTS, STARTUP_STEP_ROWS, STARTUPS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import SLOW_START_MS
from kafkascope_spark.tables import Tables

_WHO = """case
    when wait_us > duration_us and wait_why = 'backoff' then 'the client paused before it'
    when wait_us > duration_us then 'the client waited before it'
    when coalesce(broker_us, 0) * 2 > duration_us and broker_why = 'rebalance' then 'the group waited for its members'
    when coalesce(broker_us, 0) * 2 > duration_us then 'the broker took it'
    else 'the network or connecting took it' end"""
_TRIES = (
    "if(worst.n_tries = 1, '', concat(' (', worst.n_tries, ' tries', if(worst.error_name is null, '', "
    "concat(', ', worst.error_name)), ')'))"
)
_OTHERS = (
    "if(coalesce(n_like, 0) < 3, '', concat('; half of the ', n_like, ' starts of its kind take ', "
    f"{wording.lasting('usual_ns')}, ' or less'))"
)
_OWN = "if(broker_why in ('rebalance', 'long_poll'), 0, duration_us) + if(wait_why = 'no_records', 0, wait_us)"


def find(tables: Tables) -> DataFrame:
    """One finding per start that ended ready."""
    starts = tables[STARTUPS].where("outcome = 'ready'")
    usual = starts.groupBy("expected_sequence").agg(
        *exprs("cast(percentile(total_ms, 0.5) * 1000000 as bigint) as usual_ns", "count(*) as n_like")
    )
    slow = starts.where(f"total_ms >= {SLOW_START_MS}")
    each = (
        slow.join(_worst_steps(_steps(tables, slow)), "startup_id")
        .join(usual, "expected_sequence", "left")
        .join(tables[CLIENTS].select("client_instance_id", "client_id", "client_ip"), "client_instance_id")
    )
    worst = "replace(worst.step, '_', ' ')"
    return found(
        each,
        Finding(
            severity=exprs(f"if(own_us div 1000 >= {SLOW_START_MS}, 'warning', 'info')")[0],
            sentence=f"concat({wording.called()}, ' took ', {wording.lasting('(total_ms * 1000000)')}, "
            f"' to get going, from ', {wording.clock('start_ns')}, ' on; ', "
            f"{wording.lasting('(worst.all_us * 1000)')}, ' of it for ', {worst}, {_TRIES}, ': ', worst.who, "
            f"{_OTHERS})",
            subject="concat(worst.step, ' ', worst.subject)",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="worst.n_tries",
            first_ns="start_ns",
            last_ns="ready_ns",
            evidence="array_union(ids, evidence)",
        ),
    )


def _steps(tables: Tables, slow: DataFrame) -> DataFrame:
    """Steps on the critical path of slow starts, tries of one step together."""
    return (
        tables[STARTUP_STEP_ROWS]
        .where("on_critical_path")
        .selectExpr(
            "startup_id",
            "coalesce(duration_us, 0) as duration_us",
            "coalesce(wait_us, 0) as wait_us",
            "broker_us",
            "coalesce(broker_why, '') as broker_why",
            "coalesce(wait_why, '') as wait_why",
            "step",
            "coalesce(subject, '') as subject",
            "error_name",
            "conn_id",
            "request_ids",
            "seq",
        )
        .join(slow.select("startup_id"), "startup_id", "left_semi")
        .selectExpr("*", f"{_OWN} as own_us", f"{_WHO} as who")
        .groupBy("startup_id", "step", "subject")
        .agg(
            *exprs(
                "sum(own_us) as own_us",
                "sum(duration_us + wait_us) as all_us",
                "max_by(who, duration_us + wait_us) as who",
                "count(*) as n_tries",
                "min_by(error_name, seq) as error_name",
                "collect_set(conn_id) as conn_ids",
                "slice(flatten(transform(array_sort(collect_list(struct(seq, request_ids))), s -> s.request_ids)), "
                "1, 10) as request_ids",
            )
        )
    )


def _worst_steps(steps: DataFrame) -> DataFrame:
    """One row per start: the step that had most of the time."""
    return steps.groupBy("startup_id").agg(
        *exprs(
            "sum(own_us) as own_us",
            "max_by(struct(step, subject, who, n_tries, error_name, all_us), all_us) as worst",
            "flatten(collect_list(conn_ids)) as conn_ids",
            "flatten(transform(array_sort(collect_list(struct(-all_us, request_ids))), s -> s.request_ids)) as ids",
        )
    )


RULE = Rule(
    name="slow_startup",
    title="A client took long to get going",
    severity="warning",
    meaning="From the first SYN to the first records or the first acknowledgement it took longer than any of the "
    "waits that a start consists of by default. The finding names the step that had most of the time, and whose "
    "time it was: the broker's, the network's, the client's own pauses, or the other members of its group.",
    looks_at="Starts that ended ready after ten seconds or more, by the steps on their critical path. It is info "
    "where the time was a rebalance's or there was nothing to read.",
    advice="Look at the step named (kafkascope timeline shows all of them): names and connecting: DNS, addresses "
    "in bootstrap.servers that do not answer, socket.connection.setup.timeout.ms; coordinator and metadata: "
    "brokers that are still starting; join group: members that poll rarely (max.poll.interval.ms), "
    "group.initial.rebalance.delay.ms.",
    sources=("KIP-601", "KIP-134", "KIP-62"),
    find=find,
    signs=(Sign(STARTUPS, "total_ms", above=SLOW_START_MS - 1),),
    unless=("access_denied", "auth_failed", "missing_topic", "not_enough_replicas"),
)
