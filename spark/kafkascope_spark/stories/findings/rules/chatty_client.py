"""`chatty_client`: a client sends more requests than records."""

from collections.abc import Collection

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, with_client
from kafkascope_spark.stories.findings.conditions import Expression, all_of, column, largest, none_of, smallest, total
from kafkascope_spark.stories.findings.read import Where, has_group
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import USAGE
from kafkascope_spark.stories.findings.sql import FIRST_OF_KIND
from kafkascope_spark.stories.findings.wording import client, counted, duration
from kafkascope_spark.stories.settings import setting, settings
from kafkascope_spark.stories.tables import CLIENTS

_SUCCEEDED = Where(
    USAGE,
    api_key=none_of(api_keys.API_VERSIONS, api_keys.SASL_HANDSHAKE, api_keys.SASL_AUTHENTICATE),
    status="ok",
    failed=False,
)


def _often(n: Expression, first_ns: Expression, last_ns: Expression) -> Expression:
    """Returns the condition for the number of requests in a time, and per second."""
    return all_of(n >= limit.CHATTY_REQUESTS, n * 1e9 >= (last_ns - first_ns) * float(limit.CHATTY_A_SECOND))


def _is_chatty(n_records: str, first_ns: str) -> Expression:
    """Returns the condition for the requests of a client. n_records, first_ns: columns with their records and first
    times."""
    n = total("n")
    return all_of(n >= total(n_records) * float(limit.CHATTY_EACH), _often(n, smallest(first_ns), largest("last_ns")))


# One finding per client. Failed requests, and connections that never did any work, are left to other rules.
_QUERY = f"""
with by_connection as (
    select conn_id, api_name, sum(n) as n, sum(total_records) as n_records, min(least_wait_ms) as max_wait_ms,
        min(least_min_bytes) as min_bytes, min(ts_ns) as first_ns, max(last_ns) as last_ns,
        min({FIRST_OF_KIND}) as sample
    from succeeded group by conn_id, api_name
), by_api as (
    select client_instance_id, client_id, client_ip, api_name, sum(n) as n, sum(n_records) as n_records,
        min(max_wait_ms) as max_wait_ms, min(min_bytes) as min_bytes, min(first_ns) as first_ns,
        max(last_ns) as last_ns, min(sample) as sample, collect_set(conn_id) as conn_ids
    from by_connection join (
        select explode(conn_ids) as conn_id, client_instance_id, client_id, client_ip from busy_clients
    ) using (conn_id)
    group by client_instance_id, client_id, client_ip, api_name
)
select client_instance_id, client_id, client_ip, sum(n) as n, sum(n_records) as n_records,
    min(first_ns) as first_ns, max(last_ns) as last_ns,
    max_by(struct(api_name, max_wait_ms, min_bytes), struct(n, api_name)) as most,
    array(max_by(sample.request_id, struct(n, api_name))) as evidence, flatten(collect_list(conn_ids)) as conn_ids
from by_api
group by client_instance_id, client_id, client_ip
having {_is_chatty("n_records", "first_ns")}"""


def _some_are_chatty(tables: Tables) -> bool:
    rows = with_client(tables["succeeded"], tables["busy_clients"])
    return has_group(rows, ("client_instance_id",), _is_chatty("total_records", "ts_ns"))


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} sent {f.n} requests for {counted(f.n_records, 'record')} in "
        f"{duration(f.last_ns - f.first_ns)} from {f.begin(f.first_ns)}, most of them "
        f"{f.most['api_name']}{_waits(f)}"
    )


def _waits(f: Facts) -> str:
    wait_ms, min_bytes = f.most["max_wait_ms"], f.most["min_bytes"]
    if wait_ms is None:
        return ""
    return f" (they allow a wait of {wait_ms} ms{'' if min_bytes is None else f', for {min_bytes} bytes'})"


def _advice(f: Facts) -> str:
    about = {"Fetch": _fetch, "OffsetCommit": _commit}.get(f.most["api_name"])
    return RULE.advice if about is None else about(f.libraries)


def _fetch(libraries: Collection[str]) -> str:
    names = settings(("fetch_wait", "fetch_min"), libraries, defaults=True)
    return f"Raise {names} of the consumer: the broker then answers less often, with more."


def _commit(libraries: Collection[str]) -> str:
    return f"Commit once for many records: after each poll, or by {setting('commit_interval', libraries)}."


DETECTOR = Detector(
    reads={
        "busy_clients": Where(
            CLIENTS,
            _often(column("n_requests"), column("first_ns"), column("last_ns")),
            kind=none_of("broker", "admin"),
        ),
        "succeeded": _SUCCEEDED,
    },
    candidates=Candidates(
        {
            "busy_clients": ("client_instance_id", "conn_ids"),
            "succeeded": ("conn_id", "n", "total_records", "ts_ns", "last_ns"),
        },
        _some_are_chatty,
    ),
    query=_QUERY,
    subject=lambda f: f.most["api_name"],
    sentence=_sentence,
    advice=_advice,
)
RULE = Rule(
    name="chatty_client",
    title="A client sends more requests than records",
    severity="info",
    meaning="Each request costs the broker a slot of its request handlers. A client that asks for the same again and "
    "again, or once for each record, takes them from others.",
    looks_at=f"At least {limit.CHATTY_REQUESTS} requests that went well, {limit.CHATTY_A_SECOND} a second or more "
    f"over its whole life, and {limit.CHATTY_EACH} or more for each record that the client sent or got. Admin clients "
    "and brokers are left out.",
    advice=f"Look at what it asks for most. For Fetch: {_fetch(())} For OffsetCommit: {_commit(())} For Metadata: keep "
    "one client open instead of many short ones.",
    sources=("fetch.max.wait.ms and fetch.min.bytes of the consumer settings", "KIP-74"),
    detectors=(DETECTOR,),
    unless=("lookup_storm",),
)
