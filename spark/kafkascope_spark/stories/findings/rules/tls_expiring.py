"""`tls_expiring`: a certificate that was seen on the wire expires soon, or has expired."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, column
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.wording import counted, date, listed
from kafkascope_spark.stories.settings import setting

_DAY_NS = 86_400 * 10**9


def _query(side: str) -> str:
    """Returns the query, with one finding for each certificate."""
    owner = "client_ip" if side == "client" else "concat(server_ip, ':', server_port)"
    return f"""
select null as client_instance_id, '{side}' as side, tls_{side}_subject as subject, tls_{side}_issuer as issuer,
    tls_{side}_not_after_ns as not_after_ns, sort_array(collect_set({owner})) as owners, count(*) as n,
    min(first_ns) as first_ns, max(last_ns) as last_ns, slice(sort_array(collect_set(conn_id)), 1, 20) as conn_ids,
    null as evidence, if(tls_{side}_not_after_ns < max(last_ns), 'error', 'warning') as severity
from shown
group by tls_{side}_subject, tls_{side}_issuer, tls_{side}_not_before_ns, tls_{side}_not_after_ns
having tls_{side}_not_after_ns - max(last_ns) < least(
    {limit.EXPIRING_DAYS * _DAY_NS}, (tls_{side}_not_after_ns - tls_{side}_not_before_ns) div {limit.EXPIRING_PART})"""


def _sentence(f: Facts) -> str:
    days = (f.not_after_ns - f.last_ns) // _DAY_NS
    until = f"expired on {date(f.not_after_ns)}" if days < 0 else f"expires on {date(f.not_after_ns)}"
    when = "" if days < 0 else f", {counted(days, 'day')} after the capture"
    return (
        f"The certificate of {listed(f.owners)} ({f.subject or '?'}, signed by {f.issuer or '?'}) {until}{when}; it "
        f"was shown on {counted(f.n, 'connection')}, first at {f.begin(f.first_ns)}"
    )


def _advice(f: Facts) -> str:
    renew = f"Renew the certificate, and put it into the keystore ({setting('keystore', ('java', 'librdkafka'))})."
    without_restart = (
        "Brokers load a new keystore of a listener without a restart (kafka-configs.sh --alter --add-config "
        "listener.name.NAME.ssl.keystore.location=...)."
    )
    return f"{renew} {without_restart}" if f.side == "server" else renew


def _detector(side: str) -> Detector:
    left_ns = column(f"tls_{side}_not_after_ns") - column("last_ns")
    return Detector(
        reads={
            "shown": Where(CONNECTIONS, **{f"tls_{side}_not_after_ns": NOT_NULL}),
            "shown_late": Where(CONNECTIONS, left_ns < limit.EXPIRING_DAYS * _DAY_NS),
        },
        query=_query(side),
        subject=fact("subject"),
        sentence=_sentence,
        advice=_advice,
    )


RULE = Rule(
    name="tls_expiring",
    title="A certificate expires soon",
    severity="warning",
    meaning="When a broker's certificate expires, clients and other brokers can no longer connect to it; when a "
    "client's does, no broker accepts the client. Open connections continue, so it may show only after a restart.",
    looks_at=f"Certificates in handshakes that expire within {limit.EXPIRING_DAYS} days of the capture, or, where they "
    "are valid for less than three months, in the last third of that time; an error where they had expired. Those of "
    "TLS 1.3 are encrypted, and need a key log.",
    advice="Renew the certificate before that time.",
    sources=("RFC 5280", "KIP-226 (keystores are loaded again)"),
    detectors=(_detector("server"), _detector("client")),
)
