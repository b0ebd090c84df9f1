"""Time series of a dataset: those that Prometheus would have scraped during the capture.

A family is a query with the columns of its labels, `at_s`, the end of a time step, and `n`; for a histogram also `le`.
Steps begin at round times. Counters and histograms count from the beginning of the capture; each of their series has a
sample at every step, and one of 0 before the first step, so that rates are correct everywhere. Names follow Prometheus'
rules: base units, and `_total` for counters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.sql.database import Database

STEPS_S = (1, 5, 15, 60, 300, 900, 3600)
MOST_STEPS = 600
"""Most steps with which the default step covers the capture."""
MOST_CLIENTS = 500
"""Most clients that have series of their own, those with most requests; the others are one, called `(other)`."""
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds of the histograms of latency."""


@dataclass(frozen=True, slots=True)
class Family:
    """Series of one name. kind: counter, gauge or histogram. query: see the module; {steps} is replaced by the steps of
    time, {step} by their length in seconds."""

    name: str
    kind: str
    unit: str
    help: str
    labels: tuple[str, ...]
    tables: tuple[str, ...]
    query: str


_CLIENT = "case when client_id in (from busy) or client_id is null then coalesce(client_id, '') else '(other)' end"
_BUSY = f"""busy as (
    select client_id from requests where client_id is not null group by 1 order by count(*) desc, 1 limit {MOST_CLIENTS}
)"""
_BROKER = "coalesce(node_id::varchar, server_ip || ':' || server_port)"


def _counter(counted: str, labels: str, *, before: str = "", bucket: str = "") -> str:
    """Returns the query for running sums. counted: a query with the labels, `ts_ns` and `n`; bucket: the label of a
    histogram's buckets."""
    series = f"{labels}, {bucket}" if bucket else labels
    return f"""
with {before} counted as ({counted}),
stepped as (
    select {series}, (ts_ns // ({{step}} * 1000000000::bigint) + 1) * {{step}} as at_s, sum(n) as n
    from counted group by all
),
series as (select distinct {series} from stepped)
select {series}, at_s, sum(coalesce(n, 0)) over (partition by {series} order by at_s) as n
from series cross join ({{steps}}) left join stepped using ({series}, at_s)
order by {labels}, at_s{", " + bucket if bucket else ""}
"""


_REQUESTS = "cluster, broker, api, client"
_FAMILIES = (
    Family(
        "kafkascope_requests",
        "counter",
        "",
        "Requests that clients and brokers sent.",
        ("cluster", "broker", "api", "client"),
        ("requests",),
        _counter(
            f"select cluster, {_BROKER} as broker, api_name as api, {_CLIENT} as client, ts_ns, 1 as n from requests "
            "where ts_ns is not null and api_name is not null",
            _REQUESTS,
            before=f"{_BUSY},",
        ),
    ),
    Family(
        "kafkascope_request_bytes",
        "counter",
        "bytes",
        "Bytes of requests and their responses.",
        ("cluster", "broker", "api", "client"),
        ("requests",),
        _counter(
            f"select cluster, {_BROKER} as broker, api_name as api, {_CLIENT} as client, ts_ns, "
            "coalesce(request_bytes, 0) + coalesce(response_bytes, 0) as n from requests "
            "where ts_ns is not null and api_name is not null",
            _REQUESTS,
            before=f"{_BUSY},",
        ),
    ),
    Family(
        "kafkascope_errors",
        "counter",
        "",
        "Error codes in responses.",
        ("cluster", "broker", "api", "client", "error"),
        ("errors", "requests"),
        _counter(
            f"select cluster, coalesce(node_id::varchar, '') as broker, api_name as api, {_CLIENT} as client, "
            "error_name as error, ts_ns, 1 as n from errors where ts_ns is not null and api_name is not null",
            f"{_REQUESTS}, error",
            before=f"{_BUSY},",
        ),
    ),
    Family(
        "kafkascope_unanswered_requests",
        "counter",
        "",
        "Requests that were never answered.",
        ("cluster", "broker", "api"),
        ("requests",),
        _counter(
            f"select cluster, {_BROKER} as broker, api_name as api, ts_ns, (status = 'unanswered')::int as n "
            "from requests where ts_ns is not null and api_name is not null",
            "cluster, broker, api",
        ),
    ),
    Family(
        "kafkascope_request_latency_seconds",
        "histogram",
        "seconds",
        "Time from the last byte of a request to the first of its response, by the time of the request.",
        ("cluster", "broker", "api"),
        ("requests",),
        _counter(
            f"select cluster, {_BROKER} as broker, api_name as api, "
            f"unnest(list_filter([{', '.join(map(str, BUCKETS_S))}, 'infinity'::double, 'nan'::double], "
            "lambda le: isnan(le) or latency_us <= le * 1e6)) as le, ts_ns, "
            "case when isnan(le) then latency_us / 1e6 else 1 end as n "
            "from requests where ts_ns is not null and api_name is not null and latency_us >= 0",
            "cluster, broker, api",
            bucket="le",
        ),
    ),
    Family(
        "kafkascope_topic_records_written",
        "counter",
        "",
        "Records that brokers accepted.",
        ("cluster", "topic"),
        ("partition_flow",),
        _counter(
            "select distinct on (cluster, topic, partition, ts_ns) cluster, topic, ts_ns, n_records as n "
            "from partition_flow where n_records is not null",
            "cluster, topic",
        ),
    ),
    Family(
        "kafkascope_group_records_fetched",
        "counter",
        "",
        "Records that a group fetched for the first time.",
        ("cluster", "topic", "group"),
        ("partition_flow",),
        _counter(
            'select cluster, topic, group_id as "group", ts_ns, n_fetched as n from partition_flow '
            "where group_id is not null and n_fetched is not null",
            'cluster, topic, "group"',
        ),
    ),
    Family(
        "kafkascope_group_lag_records",
        "gauge",
        "",
        "Records by which a group is behind the end of a topic.",
        ("cluster", "topic", "group"),
        ("partition_flow",),
        'select cluster, topic, "group", at_s, sum(lag) as n from ('
        'select cluster, topic, partition, group_id as "group", '
        "(ts_ns // ({step} * 1000000000::bigint) + 1) * {step} as at_s, "
        "arg_max(lag_last, ts_ns) as lag from partition_flow where group_id is not null and lag_last is not null "
        "group by all) group by all order by all",
    ),
    Family(
        "kafkascope_stalls",
        "gauge",
        "",
        "Waits of clients and groups for the cluster that go on.",
        ("cluster", "kind"),
        ("stalls",),
        "select cluster, kind, at_s, count(*) filter (from_ns <= at_s * 1e9 "
        "and (to_ns is null or to_ns >= (at_s - {step}) * 1e9)) as n "
        "from ({steps}) cross join stalls group by all order by cluster, kind, at_s",
    ),
    Family(
        "kafkascope_stalled_clients",
        "gauge",
        "",
        "Clients that wait for the cluster.",
        ("cluster",),
        ("stalls",),
        "select cluster, at_s, count(distinct client_instance_id) filter (from_ns <= at_s * 1e9 "
        "and (to_ns is null or to_ns >= (at_s - {step}) * 1e9)) as n from ({steps}) cross join stalls "
        "group by all order by cluster, at_s",
    ),
    Family(
        "kafkascope_incidents",
        "gauge",
        "",
        "Incidents that go on.",
        ("cluster", "kind", "severity", "subject"),
        ("incidents",),
        "select cluster, kind, severity, coalesce(subject, '') as subject, at_s, count(*) filter (start_ns <= at_s * "
        "1e9 and (end_ns is null or end_ns >= (at_s - {step}) * 1e9)) as n from ({steps}) cross join incidents group "
        "by all order by cluster, kind, severity, subject, at_s",
    ),
)


def families() -> tuple[Family, ...]:
    """Returns all families, in the order in which they are written."""
    return _FAMILIES


def default_step(dataset: Dataset) -> int:
    """Returns the shortest of STEPS_S of which MOST_STEPS or fewer cover the capture. Raises UsageError."""
    first_ns, last_ns = capture_span(dataset)
    return next((step for step in STEPS_S if (last_ns - first_ns) / 1e9 / step < MOST_STEPS), STEPS_S[-1])


def samples(database: Database, family: Family, step: int) -> Iterator[tuple[tuple[str, ...], int, float]]:
    """Yields labels (for a histogram with `le` as the last: infinity counts all, and nan has their sum), time in
    seconds since the epoch, value; nothing where the dataset lacks a table of the family. Raises UsageError."""
    if not all(database.has(table) for table in family.tables):
        return
    first_ns, last_ns = capture_span(database.dataset)
    step_ns = step * 10**9
    begin, end = first_ns // step_ns * step, (last_ns // step_ns + 1) * step
    steps = f"select unnest(range({begin}, {end + 1}, {step})) as at_s"
    _, rows = database.query(family.query.replace("{steps}", steps).replace("{step}", str(step)))
    for *labels, at_s, n in rows:
        yield tuple("" if label is None else str(label) for label in labels), at_s, n
