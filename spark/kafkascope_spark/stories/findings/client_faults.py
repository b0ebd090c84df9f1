"""Findings about clients that are at fault themselves, made from the incident of each client."""

from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, fact
from kafkascope_spark.stories.findings.shared_queries import ADVISED
from kafkascope_spark.stories.findings.wording import first_sentence
from kafkascope_spark.stories.tables import INCIDENTS

# One finding per incident and client; one for all clients whose requests could not be read. A client that is served
# in another way still fails here.
_QUERY = f"""
select client_instance_id, if(severity = 'info', 'warning', severity) as severity, incident_id, subject,
    sentence, {ADVISED}, 1 as n,
    start_ns as first_ns, greatest(start_ns, coalesce(end_ns, :capture_last_ns)) as last_ns, evidence, null as conn_ids
from faults lateral view outer explode(clients) as client_instance_id"""


def client_fault_detector(client_fault: str) -> Detector:
    """Returns the detector of incidents with that fault of clients (CLIENT_FAULTS)."""
    return Detector(
        reads={"faults": Where(INCIDENTS, client_fault=client_fault)},
        query=_QUERY,
        subject=fact("subject"),
        sentence=_sentence,
        advice=fact("advice"),
    )


def _sentence(f: Facts) -> str:
    return first_sentence(f.sentence)
