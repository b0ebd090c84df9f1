"""`software_name_refused`: brokers refuse ApiVersions because of the client's software name or version."""

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, times

ALLOWED = "^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$"
"""Names and versions of software that brokers accept: org.apache.kafka.common.requests.ApiVersionsRequest."""
_REFUSED = Where(REQUESTS, api_key=api_keys.API_VERSIONS, error_name="INVALID_REQUEST", software_name=NOT_NULL)
# One finding per program: each of its connections may look like another client.
_QUERY = f"""
select r.client_id, r.client_ip, r.software_name, r.software_version, count(*) as n, min(r.ts_ns) as first_ns,
    max(r.ts_ns) as last_ns, {first_ids("r.request_id", "r.ts_ns")} as evidence,
    array_sort(collect_set(r.conn_id)) as conn_ids,
    min_by(c.client_instance_id, struct(r.ts_ns, r.request_id)) as client_instance_id,
    not r.software_name rlike '{ALLOWED}' as is_name
from refused r left join connection_clients c on c.conn_id = r.conn_id
where not (r.software_name rlike '{ALLOWED}' and coalesce(r.software_version, '') rlike '{ALLOWED}')
group by r.client_id, r.client_ip, r.software_name, r.software_version
having count(*) >= {limit.REFUSED_AGAIN}"""


def _wrong(f: Facts) -> str:
    """Returns what brokers do not accept, as text."""
    return f"software name {f.software_name!r}" if f.is_name else f"software version {f.software_version!r}"


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} got INVALID_REQUEST for ApiVersions {times(f.n)} from "
        f"{f.begin(f.first_ns)} to {f.at(f.last_ns)}: brokers do not accept its {_wrong(f)}, which may only contain "
        "letters, digits, dots and hyphens, and has to begin and end with a letter or a digit"
    )


RULE = Rule(
    name="software_name_refused",
    title="Brokers refuse the software name of a client",
    severity="error",
    meaning="Since KIP-511 a client says with ApiVersions what software it is. A name or version with other characters "
    "than brokers allow, for example with a space, or an empty one, is refused before anything else is sent: the "
    "client never gets to work, and INVALID_REQUEST looks like a broken message or a wrong version.",
    looks_at=f"INVALID_REQUEST for ApiVersions, {limit.REFUSED_AGAIN} times or more for one program, whose software "
    "name or version does not match what brokers accept.",
    advice="Change the name or version that the program gives to its library (client.software.name, "
    "kgo.SoftwareNameAndVersion, sarama's version of a build without one), or update it. Neither the broker, its "
    "version nor the network is the cause.",
    sources=("KIP-511", "org.apache.kafka.common.requests.ApiVersionsRequest"),
    detectors=(
        Detector(
            reads={
                "refused": _REFUSED,
                "refused_often": Groups(_REFUSED, per=("client_ip",), having=count() >= limit.REFUSED_AGAIN),
            },
            query=_QUERY,
            subject=lambda f: client(f.client_id, f.client_ip),
            sentence=_sentence,
        ),
    ),
)
