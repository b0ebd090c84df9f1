"""`broker_lost`: a broker died, left, or could not be reached any more."""

from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.shared_queries import ADVISED, LOST_BROKERS
from kafkascope_spark.stories.findings.wording import counted, first_sentence

# One finding per incident, except for brokers that came back with another address while clients kept trying the old
# one: only that address is lost (old_address).
_QUERY = f"""
with moved as (
    select node_id, server_ip, min(first_ns) as from_ns from connections
    where n_responses > 0 and node_id in (select node_id from lost_brokers) group by node_id, server_ip
)
select if(size(clients) = 1, clients[0], null) as client_instance_id, incident_id, subject, sentence,
    {ADVISED}, 1 as n,
    size(clients) as n_clients, start_ns as first_ns, greatest(start_ns, coalesce(end_ns, :capture_last_ns)) as last_ns,
    evidence, null as conn_ids
from lost_brokers left anti join moved
    on moved.node_id = lost_brokers.node_id and not contains(lost_brokers.subject, moved.server_ip)
        and moved.from_ns between lost_brokers.start_ns and coalesce(lost_brokers.end_ns, :capture_last_ns)"""


def _sentence(f: Facts) -> str:
    """Returns what failed, from the sentence of the incident, which also names the clients that stalled."""
    affected = counted(f.n_clients, "client or broker", "clients and brokers")
    return f"{first_sentence(f.sentence)}. It affected {affected}"


DETECTOR = Detector(
    reads={"lost_brokers": LOST_BROKERS},
    query=_QUERY,
    subject=fact("subject"),
    sentence=_sentence,
    advice=fact("advice"),
)
RULE = Rule(
    name="broker_lost",
    title="A broker died, left, or could not be reached any more",
    severity="warning",
    meaning="Clients that had connections to a broker lost them and could not open new ones, or got no answers any "
    "more, until it came back or its work had moved. Everything that it led or coordinated stalled meanwhile.",
    looks_at="Incidents in which a broker was down, silent or frozen, or in which some hosts did not reach it while it "
    "served others, and which clients noticed: their connections broke, or their requests had no answers. A connection "
    "that breaks alone and is opened again at once is none. It says nothing of an address that never served anybody, "
    "nor where only one direction of the traffic was captured.",
    advice="Look at this broker's own log and at its host for that time. If it was restarted on purpose, restart "
    "brokers one at a time with controlled.shutdown.enable=true, so that leaders move before it goes. Where others "
    "reached it all the time, look for a firewall rule, security group, route or proxy between these clients and its "
    "address.",
    sources=("org.apache.kafka.clients.NetworkClient", "KIP-144", "KIP-601"),
    detectors=(DETECTOR,),
)
