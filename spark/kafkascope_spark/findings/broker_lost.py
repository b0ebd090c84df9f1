"""`broker_lost`: a broker died, left, or could not be reached any more."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.stories import RECOVERIES
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import BROKEN, outages
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import SAME_OUTAGE_NS
from kafkascope_spark.tables import Tables

_CLIENTS = wording.counted("n_clients", "client")
_BROKERS = wording.counted("n_brokers", "broker")
_FELT = (
    f"if(n_clients = 0, {_BROKERS}, concat({_CLIENTS}, if(n_brokers > 0, concat(' and ', {_BROKERS}), ''), ' (', "
    f"{wording.listed('names')}, ')'))"
)
_HOW = """case first_error when 'CONNECTION_CLOSED' then 'closed its connections'
    when 'CONNECTION_RESET' then 'reset its connections'
    when 'CONNECTION_REFUSED' then 'refused connections'
    else 'went silent' end"""
_BACK = f"""case
    when n_open > 0 then concat('; ', {wording.counted("n_open", "client")}, ' not back when the capture ended')
    when last_back_ns is not null
        then concat('; the last was back after ', {wording.lasting("(last_back_ns - first_ns)")})
    else '' end"""
_MEANWHILE = f"""if(n_meanwhile = 0, '', concat('; meanwhile it answered ', {wording.counted("n_meanwhile", "request")},
    ' of others: the way to it was closed, not the broker'))"""
_PATH = """if(n_meanwhile = 0, null, concat('Others reached this broker all the while: look for a ',
    'firewall rule, security group, route or proxy between these clients and its address, not at the broker.'))"""


def find(tables: Tables) -> DataFrame:
    """One finding per outage: who felt it, for how long."""
    over = "partition by server order by first_ns, cause_id rows between unbounded preceding and 1 preceding"
    goes_on = f"max(coalesce(last_back_ns, last_start_ns + {SAME_OUTAGE_NS})) over ({over})"
    each = tables.once(outages).selectExpr("*", f"coalesce(first_ns <= {goes_on}, false) as goes_on")
    return found(
        each.where("not goes_on"),
        Finding(
            severity="warning",
            sentence=f"concat({wording.node('node_id', 'server')}, ' ', {_HOW}, ' at ', {wording.clock('first_ns')}, "
            f"': ', {_FELT}, ' lost it', {_BACK}, {_MEANWHILE})",
            subject=wording.node("node_id", "server"),
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="greatest(first_ns, coalesce(last_back_ns, first_ns))",
            evidence="evidence",
            advice=_PATH,
        ),
    )


RULE = Rule(
    name="broker_lost",
    title="A broker died, left, or could not be reached any more",
    severity="warning",
    meaning="Clients that had connections to a broker lost them and could not open new ones, or got no answers any "
    "more, until it came back or its work had moved. Everything that it led or coordinated stood still meanwhile.",
    looks_at="Connections that broke, or requests without an answer, and then refused or unanswered attempts to "
    "connect to an address that had answered before; several clients' requests to it that nobody answered at one "
    "time, or not before five seconds later than it should; or several clients' connections that it ended within "
    "two seconds, and not one that went on. A connection that breaks alone and is opened again at once is none. It "
    "says nothing where only one direction of the traffic was captured.",
    advice="Look at this broker's own log and at its host for that time. If it was restarted on purpose, restart "
    "brokers one at a time with controlled.shutdown.enable=true, so that leaders move before it goes. Clients "
    "come back faster with a lower reconnect.backoff.max.ms and, when hosts vanish silently, a lower "
    "request.timeout.ms and socket.connection.setup.timeout.ms.",
    sources=("org.apache.kafka.clients.NetworkClient", "KIP-144", "KIP-601"),
    find=find,
    signs=(Sign(RECOVERIES, "first_error_name", BROKEN),),
)
