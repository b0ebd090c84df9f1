"""`unfit_responses`: a server answers with unknown correlation ids, or in another format than requested."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS, UNDECODED
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import COUNT, N_ROWS, Candidates, Tables, most_rows
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.wording import counted, node

_UNFIT = Where(UNDECODED, direction="response", reason=("orphan_response", "malformed_body"))
_OPENED = Where(CONNECTIONS, syn_ns=NOT_NULL, missing_bytes=0)
# One finding per server and kind of wrong response. Only connections count that the capture has completely and from
# their begin: otherwise the request or bytes may be missing.
_QUERY = f"""
with whole as (
    select conn_id, concat(server_ip, ':', server_port) as server, node_id from opened
), unwanted as (
    select distinct o.conn_id, o.ts_ns, true as is_unwanted
    from requests o join requests r on r.conn_id = o.conn_id and r.correlation_id = o.correlation_id
    where o.status = 'orphan_response' and r.status = 'no_response_expected'
), each as (
    select server, node_id, conn_id, ts_ns, packet_no, reason, coalesce(is_unwanted, false) as is_unwanted,
        if(reason = 'malformed_body', split(detail, ':')[0], null) as message
    from unfit join whole using (conn_id) left join unwanted using (conn_id, ts_ns)
)
select server, max(node_id) as node_id, reason, message, is_unwanted, count(*) as n,
    min(ts_ns) as first_ns, max(ts_ns) as last_ns,
    count(distinct conn_id) as n_connections, min_by(packet_no, struct(ts_ns, packet_no)) as packet_no,
    cast(null as string) as client_instance_id, cast(null as array<string>) as evidence,
    array_sort(collect_set(conn_id)) as conn_ids
from each group by server, reason, message, is_unwanted
having count(*) >= {limit.UNFIT_RESPONSES}"""


def _server_repeats(tables: Tables) -> bool:
    """Whether a server sent enough of them for one reason for a finding."""
    n = most_rows(tables["unfit_on_connection"], tables["opened_connections"], "server_ip", "server_port", "reason")
    return n >= limit.UNFIT_RESPONSES


def _sentence(f: Facts) -> str:
    who = f"{node(f.node_id, f.server)} sent {counted(f.n, 'response')} on {counted(f.n_connections, 'connection')}"
    first = f"first at {f.begin(f.first_ns)} (packet {f.packet_no})"
    if f.is_unwanted:
        return (
            f"{who} to Produce with acks=0, {first}: no server may answer such a request, and a client that gets a "
            "response for which it does not wait ends the connection"
        )
    if f.message is None:
        return f"{who} whose correlation ids no request of the connection has, {first}"
    return f"{who} that are no {f.message}, which is what was asked for, {first}"


def _advice(f: Facts) -> str:
    look = f"Look at what answers at {f.server}: a proxy or gateway, or a server that is not Apache Kafka."
    if f.is_unwanted:
        return (
            f"{look} With acks=0 a producer waits for no response, and the server has to send none; report it there. "
            "Until that is mended set acks=1 or acks=all in the producers: they then wait for the response that comes. "
            "The records were written before the connections ended."
        )
    if f.message is None:
        return (
            f"{look} It has to send each correlation id back as it came; clients otherwise wait for responses that "
            "never come."
        )
    return (
        f"{look} It answers in the format of another version than that of the request; until that is mended, set "
        "clients to a version that it answers right, where their library lets them."
    )


RULE = Rule(
    name="unfit_responses",
    title="A server's responses do not fit the requests",
    severity="error",
    meaning=(
        "A client matches responses by correlation id, and reads them in the version that it asked with. What "
        "answers here breaks that: clients wait until their request times out, or fail to read the response and "
        "close the connection, and begin again."
    ),
    looks_at="Responses that answer no request of their connection, or one with acks=0, and responses that do not "
    f"decode as what was asked for, {limit.UNFIT_RESPONSES} times or more for a server, on connections whose begin was "
    "captured and of which no byte is missing.",
    advice="Look at the proxy or the server that this address belongs to.",
    sources=("Kafka protocol guide: request and response headers", "KIP-511"),
    detectors=(
        Detector(
            reads={
                "unfit": _UNFIT,
                "opened": _OPENED,
                "unfit_on_connection": Groups(_UNFIT, per=("conn_id", "reason"), having=COUNT >= 1),
                "opened_connections": Groups(_OPENED, per=("conn_id", "server_ip", "server_port")),
            },
            candidates=Candidates(
                {
                    "unfit_on_connection": ("conn_id", "reason", N_ROWS),
                    "opened_connections": ("conn_id", "server_ip", "server_port"),
                },
                _server_repeats,
            ),
            query=_QUERY,
            subject=fact("server"),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
)
