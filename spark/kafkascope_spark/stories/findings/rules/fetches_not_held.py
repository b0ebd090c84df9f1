"""`fetches_not_held`: Fetch is answered at once, without records, though the client lets the server wait for them."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import above, all_of, at_least, column, count, count_if, first_known
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, duration, node
from kafkascope_spark.stories.settings import setting

_NO_RECORDS = Where(
    REQUESTS,
    first_known("n_records", "n_errors") < 1,
    api_key=api_keys.FETCH,
    status="ok",
    n_errors=0,
    max_wait_ms=at_least(limit.NOT_HELD_WAIT_MS),
)
_AT_ONCE = column("broker_us") * float(limit.NOT_HELD_PART) < column("max_wait_ms") * 1e3
_EMPTY = Groups(_NO_RECORDS.and_where(_AT_ONCE, min_bytes=above(0)), per=("conn_id",), having=count() >= limit.NOT_HELD)
_AS_ASKED = Groups(
    _NO_RECORDS.and_where(_AT_ONCE, column("min_bytes") < 1), per=("conn_id",), having=count() >= limit.NOT_HELD
)
_N_HELD = count_if(all_of(column("broker_us") >= column("max_wait_ms") * 1e3))


# One finding per client and server. A broker answers a Fetch without records at once where it has errors, or sends the
# consumer to another replica: these are left out, and so is who asks seldom. A broker also does so for a moment while
# leaders move; it holds other Fetch requests of the capture.
def _query(groups: str, min_bytes: str, unless: str) -> str:
    """Returns the query for the Fetch requests with such a min_bytes. groups: the read with their connections; unless:
    further joins, which leave connections out."""
    return f"""
with at_once as (
    select r.request_id, r.conn_id, r.ts_ns, r.broker_us, r.max_wait_ms, r.min_bytes
    from requests r left semi join {groups} using (conn_id)
    where r.api_key = {api_keys.FETCH} and r.status = 'ok' and coalesce(r.n_records, 0) = 0 and r.n_errors = 0
        and r.max_wait_ms >= {limit.NOT_HELD_WAIT_MS} and r.min_bytes {min_bytes}
        and r.broker_us * cast({limit.NOT_HELD_PART} as bigint) < cast(r.max_wait_ms as bigint) * 1000
), sent_away as (
    select distinct conn_id from partitions
    where api_key = {api_keys.FETCH} and direction = 'response' and preferred_read_replica >= 0
), that_hold as (
    select distinct o.server from requests r join owned_connections o using (conn_id)
    where r.api_key = {api_keys.FETCH} and r.status = 'ok' and coalesce(r.n_records, 0) = 0 and r.n_errors = 0
        and r.max_wait_ms >= {limit.NOT_HELD_WAIT_MS} and r.broker_us >= cast(r.max_wait_ms as bigint) * 1000
)
select client_instance_id, client_id, client_ip, software_name, o.server, max(o.node_id) as node_id, count(*) as n,
    min(a.ts_ns) as first_ns, max(a.ts_ns) as last_ns, min(a.max_wait_ms) as max_wait_ms,
    max(a.min_bytes) as min_bytes, percentile_approx(a.broker_us, 0.5) as took_us,
    {first_ids("a.request_id", "a.ts_ns")} as evidence, array_sort(collect_set(a.conn_id)) as conn_ids
from at_once a join owned_connections o on a.conn_id = o.conn_id left anti join sent_away s on a.conn_id = s.conn_id
    {unless}
where {NO_BROKER}
group by client_instance_id, client_id, client_ip, software_name, o.server
having count(*) >= {limit.NOT_HELD}
    and count(*) * cast(min(a.max_wait_ms) as double) >= (max(a.ts_ns) - min(a.ts_ns)) / 1e6 * {limit.NOT_HELD_PART}"""


def _is_of_server_that_never_holds(tables: Tables) -> bool:
    """Whether one of the connections is to a server that held no Fetch for as long as it allowed."""
    server = {conn: tuple(ends) for conn, *ends in rows_of(tables["opened"], "conn_id", "server_ip", "server_port")}
    held = {server.get(conn) for conn, n in rows_of(tables["held_on_connection"], "conn_id", str(_N_HELD)) if n}
    return any(server.get(conn) not in held for (conn,) in rows_of(tables["empty_on_connection"], "conn_id"))


def _sentence(f: Facts) -> str:
    a_second = f.n * 1e9 / max(f.last_ns - f.first_ns, 1)
    return (
        f"{node(f.node_id, f.server)} answered {f.n} Fetch of {client(f.client_id, f.client_ip)} without records after "
        f"{duration(f.took_us * 1000)} (median) from {f.begin(f.first_ns)} on, {a_second:.0f} a second, though it may "
        f"wait {f.max_wait_ms} ms for records{_asked_so(f)}"
    )


def _asked_so(f: Facts) -> str:
    return "" if f.min_bytes > 0 else ": each Fetch says with min_bytes 0 that an answer without records will do"


def _advice(f: Facts) -> str:
    if f.min_bytes <= 0:
        return (
            f"Set {setting('fetch_min', f.libraries) or 'fetch.min.bytes'} to 1 (0 now): the server then waits for "
            f"{setting('fetch_wait', f.libraries)}, or until records come. The server is not the cause: with 0 it has "
            "to answer at once, and the client asks again. Records come no later with 1."
        )
    return (
        "The client is not the cause: it sends the next Fetch after each response. A Kafka broker holds such a "
        f"Fetch for {setting('fetch_wait', f.libraries)}, or until records come: upgrade the server or proxy that "
        "does not, or report it there. Until then it costs processor time and traffic on both sides, and no setting "
        "of the client lowers it."
    )


RULE = Rule(
    name="fetches_not_held",
    title="Fetch is answered at once, without records, again and again",
    severity="warning",
    meaning="A Fetch says how long the broker may wait for records, so that a consumer of a quiet topic asks twice a "
    "second. A server that answers at once makes it ask hundreds of times a second, for nothing; so does a consumer "
    "that says with min_bytes 0 that nothing is enough.",
    looks_at=f"Fetch with max_wait_ms of {limit.NOT_HELD_WAIT_MS} or more, answered without "
    f"records or errors in less than a {limit.NOT_HELD_PART}th of that: {limit.NOT_HELD} or more, and "
    f"{limit.NOT_HELD_PART} times as often as that wait allows. Consumers that are sent to another replica are left "
    "out, and so are servers that let any Fetch wait for as long as it allows, unless min_bytes is 0.",
    advice="Set fetch.min.bytes to 1 where it is 0. Else upgrade the server or proxy that does not hold Fetch for "
    "fetch.max.wait.ms, or report it there.",
    sources=("KIP-74", "org.apache.kafka.server.purgatory", "fetch.max.wait.ms of the consumer settings"),
    detectors=(
        Detector(
            reads={
                "empty_on_connection": _EMPTY,
                "held_on_connection": Groups(_NO_RECORDS, per=("conn_id",), having=_N_HELD >= 0),
                "opened": Where(CONNECTIONS),
            },
            candidates=Candidates(
                {
                    "empty_on_connection": ("conn_id",),
                    "held_on_connection": ("conn_id", str(_N_HELD)),
                    "opened": ("conn_id", "server_ip", "server_port"),
                },
                _is_of_server_that_never_holds,
            ),
            query=_query("empty_on_connection", "> 0", "left anti join that_hold h on o.server = h.server"),
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
            advice=_advice,
        ),
        Detector(
            reads={"asked_on_connection": _AS_ASKED},
            query=_query("asked_on_connection", "<= 0", ""),
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
