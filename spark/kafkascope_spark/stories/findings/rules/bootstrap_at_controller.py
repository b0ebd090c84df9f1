"""`bootstrap_at_controller`: a client is given the address of a KRaft controller, which serves no clients."""

from collections import Counter

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import first_ids, literals
from kafkascope_spark.stories.findings.wording import client, counted

_GREETED = Where(CONNECTIONS, n_requests=1, n_responses=1, api_versions_offered=NOT_NULL)
# One finding per program and server, with the first of its clients.
_QUERY = f"""
with left_at_once as (
    select o.conn_id, o.client_instance_id, o.client_id, o.client_ip, o.software_name, o.software_version, o.server,
        o.first_ns, o.last_ns
    from greeted g join owned_connections o on o.conn_id = g.conn_id
    where {NO_BROKER} and g.close_kind in {literals(CLOSED_BY_CLIENT)}
        and not exists(g.api_versions_offered, each -> each like 'Metadata:%')
        and exists(g.api_versions_offered, each -> each like 'BrokerRegistration:%' or each like 'Vote:%')
)
select client_id, client_ip, software_name, software_version, server, count(*) as n, min(first_ns) as first_ns,
    max(last_ns) as last_ns, {first_ids("conn_id", "first_ns")} as conn_ids, cast(null as array<string>) as evidence,
    min_by(client_instance_id, struct(first_ns, conn_id)) as client_instance_id
from left_at_once
group by client_id, client_ip, software_name, software_version, server
having count(*) >= {limit.REFUSED_AGAIN}"""


def _are_of_controller(tables: Tables) -> bool:
    """Whether enough connections to one server ended after it had offered the requests of a controller."""
    servers = Counter(
        tuple(server)
        for offered, *server in rows_of(tables["greeted"], "api_versions_offered", "server_ip", "server_port")
        if any(each.startswith(("BrokerRegistration:", "Vote:")) for each in offered)
        and not any(each.startswith("Metadata:") for each in offered)
    )
    return max(servers.values(), default=0) >= limit.REFUSED_AGAIN


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} opened {counted(f.n, 'connection')} to {f.server} from "
        f"{f.begin(f.first_ns)} to {f.at(f.last_ns)}, and closed each when ApiVersions was answered: {f.server} is a "
        "controller of KRaft, which answers neither Metadata nor Produce nor Fetch"
    )


RULE = Rule(
    name="bootstrap_at_controller",
    title="A client is given the address of a controller",
    severity="error",
    meaning="A controller of KRaft has a listener of its own, on which only brokers, controllers and administrators "
    "(bootstrap.controllers) get anything: Java clients end with UnsupportedVersionException (the node does not "
    "support METADATA), and others try again and again. It looks like a client that dies, or like a broker "
    "that is too old.",
    looks_at=f"{limit.REFUSED_AGAIN} or more connections of one program to one server that it closed after ApiVersions "
    "alone was answered, with the requests of a controller (BrokerRegistration, Vote) and without Metadata among what "
    "the server offers. Connections of brokers are left out.",
    advice="Give the client the addresses of brokers in bootstrap.servers (port 9092 by default), and not the listener "
    "of controller.quorum.voters or controller.quorum.bootstrap.servers (often port 9093). A service or load balancer "
    "in front has to choose brokers alone. The controller is not the cause.",
    sources=("KIP-919", "KAFKA-13143", "org.apache.kafka.clients.NodeApiVersions"),
    detectors=(
        Detector(
            reads={
                "greeted": _GREETED,
                "greeted_at": Groups(_GREETED, per=("server_ip",), having=count() >= limit.REFUSED_AGAIN),
            },
            candidates=Candidates(
                {"greeted": ("api_versions_offered", "server_ip", "server_port")}, _are_of_controller
            ),
            query=_QUERY,
            subject=lambda f: str(f.server),
            sentence=_sentence,
        ),
    ),
)
