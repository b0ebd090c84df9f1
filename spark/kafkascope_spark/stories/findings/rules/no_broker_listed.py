"""`no_broker_listed`: Metadata lists no broker, and the client does nothing from then on."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.table import PRODUCING_KINDS, READING_KINDS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import largest, longer_than
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.wording import client, duration
from kafkascope_spark.stories.tables import CLIENTS

_METADATA = Where(REQUESTS, api_key=api_keys.METADATA, status="ok")
_LAST = largest("ts_ns")
_SOON_NS = limit.AT_ONCE_MS * 1_000_000
# One finding per client whose last response to Metadata lists no broker, and which sent nothing more, although others
# were active for a while after that.
_QUERY = f"""
with until as (
    select max(last_ns) as until_ns from connections
), blank as (
    select c.client_instance_id, c.client_id, c.client_ip, c.conn_ids, o.server, o.node_id, m.request_id, m.ts_ns,
        row_number() over (partition by c.client_instance_id order by m.ts_ns desc, m.request_id) as nth
    from metadata_responses m join owned_connections o on o.conn_id = m.conn_id
        join working c on c.client_instance_id = o.client_instance_id
    where size(m.brokers) = 0 and c.last_ns <= m.ts_ns + {_SOON_NS}L
)
select client_instance_id, client_id, client_ip, server, node_id, ts_ns as first_ns, until_ns as last_ns, 1 as n,
    array(request_id) as evidence, conn_ids
from blank cross join until
where nth = 1 and until_ns - ts_ns >= {limit.SAME_OFFSET_MS}000000L"""


def _some_end_with_metadata(tables: Tables) -> bool:
    """Whether the last request of a client is Metadata."""
    last_of = dict(rows_of(tables["last_metadata"], "conn_id", str(_LAST)))
    return any(
        max((last_of.get(conn_id, 0) for conn_id in conn_ids), default=0) + _SOON_NS >= last_ns
        for conn_ids, last_ns in rows_of(tables["working"], "conn_ids", "last_ns")
    )


def _sentence(f: Facts) -> str:
    whom = f.server if f.node_id is None else f"node {f.node_id} ({f.server})"
    return (
        f"{client(f.client_id, f.client_ip)} got a response to Metadata without any broker from {whom} at "
        f"{f.begin(f.first_ns)}, and sent nothing more: it no longer knows any address, and the capture goes on for "
        f"{duration(f.last_ns - f.first_ns)}"
    )


RULE = Rule(
    name="no_broker_listed",
    title="A client stops after Metadata without a broker",
    severity="error",
    meaning="A broker that starts, or that has lost the others, may list no broker at all for a moment. A client "
    "that takes this for the cluster forgets all addresses: it closes its connections, and some libraries never ask "
    "again. No error code shows it, and its records wait.",
    looks_at="Metadata responses without a broker to a client that had worked, and that sent nothing more after the "
    f"last of them, while the capture goes on for {limit.SAME_OFFSET_MS // 1000} s or longer.",
    advice="Restart the client, and update its library: it has to go on with the addresses that it knew, or begin "
    "again with bootstrap.servers. See in the broker's log why it listed none: a restart or an upgrade, during which "
    "it answers before it knows the cluster. No offset has to be set.",
    sources=("KIP-899", "org.apache.kafka.clients.Metadata"),
    detectors=(
        Detector(
            reads={
                "last_metadata": Groups(_METADATA, per=("conn_id",), having=_LAST >= 0),
                "working": Where(
                    CLIENTS,
                    kind=(*READING_KINDS, *PRODUCING_KINDS),
                    conn_ids=longer_than(0),
                ),
            },
            candidates=Candidates(
                {"last_metadata": ("conn_id", str(_LAST)), "working": ("conn_ids", "last_ns")},
                _some_end_with_metadata,
            ),
            query=_QUERY,
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
        ),
    ),
)
