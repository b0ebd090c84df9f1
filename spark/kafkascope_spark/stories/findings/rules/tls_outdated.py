"""`tls_outdated`: TLS with a version, cipher suite or key that should no longer be used."""

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import all_of, any_of, below, matches
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.wording import counted, listed, node
from kafkascope_spark.stories.settings import settings

OLD_VERSIONS = ("SSLv3", "TLSv1", "TLSv1.1")
BROKEN = "_(NULL|EXPORT|EXPORT1024|anon|RC4|RC2|DES|DES40|3DES|IDEA)_"
"""Parts of names of cipher suites that RFC 9325 (section 4.1) forbids or advises against."""
NO_FORWARD_SECRECY = "^TLS_(RSA|DH_RSA|DH_DSS|ECDH_RSA|ECDH_ECDSA)_"
"""Suites without forward secrecy: whoever gets the server's key later can decrypt recorded traffic (the same
section)."""


def _query(what: str, severity: str = "'warning'") -> str:
    """Returns the query, with one finding for each server and outdated property. what: expression for the property."""
    return f"""
select null as client_instance_id, server_ip, server_port, max(node_id) as node_id, {what} as what, count(*) as n,
    sort_array(collect_set(client_ip)) as clients, min(first_ns) as first_ns, max(last_ns) as last_ns,
    slice(sort_array(collect_set(conn_id)), 1, 20) as conn_ids, null as evidence, {severity} as severity,
    max(coalesce(array_contains(tls_versions_offered, 'TLSv1.2') or array_contains(tls_versions_offered, 'TLSv1.3'),
        false)) as client_is_newer
from shown
group by server_ip, server_port, {what}"""


def _server(f: Facts) -> str:
    return node(f.node_id, f"{f.server_ip}:{f.server_port}")


def _clients(f: Facts) -> str:
    return f"{counted(f.n, 'connection')} of {listed(f.clients)}, first at {f.begin(f.first_ns)}"


def _version_advice(f: Facts) -> str:
    who = (
        "the listener: clients offer newer versions" if f.client_is_newer else "these clients: they offer no newer one"
    )
    return f"Allow TLSv1.2 and TLSv1.3 only ({_SETTINGS}); it is for {who}."


_SETTINGS = settings(("tls_versions", "tls_suites"), ("java", "librdkafka"))
_SMALL = any_of(
    all_of(tls_server_key_type=("rsa", "dsa"), tls_server_key_bits=below(limit.SMALL_RSA_BITS)),
    all_of(tls_server_key_type="ec", tls_server_key_bits=below(limit.SMALL_EC_BITS)),
)
_VERSIONS = Detector(
    reads={"shown": Where(CONNECTIONS, tls_version=OLD_VERSIONS)},
    query=_query("tls_version"),
    subject=_server,
    sentence=lambda f: f"{_server(f)} speaks {f.what}, which is not secure any more: {_clients(f)}",
    advice=_version_advice,
)
_SUITES = Detector(
    reads={"shown": Where(CONNECTIONS, tls_suite=matches(f"{BROKEN}|{NO_FORWARD_SECRECY}"))},
    query=_query("tls_suite", f"if(tls_suite rlike '{BROKEN}', 'warning', 'info')"),
    subject=_server,
    sentence=lambda f: (
        f"{_server(f)} chose the cipher suite {f.what}, "
        + ("which is weak" if f.severity == "warning" else "which has no forward secrecy")
        + f": {_clients(f)}"
    ),
    advice=lambda f: f"Remove {f.what} from the cipher suites of the listener ({_SETTINGS}), or offer better ones.",
)
_KEYS = Detector(
    reads={"shown": Where(CONNECTIONS, _SMALL)},
    query=_query("concat(tls_server_key_type, ' of ', tls_server_key_bits, ' bits')"),
    subject=_server,
    sentence=lambda f: f"The certificate of {_server(f)} has a key that is too small ({f.what}): {_clients(f)}",
    advice=lambda f: f"Give the listener a certificate with a key of {limit.SMALL_RSA_BITS} bits (rsa) or 256 (ec).",
)
RULE = Rule(
    name="tls_outdated",
    title="TLS is outdated",
    severity="warning",
    meaning="What protects these connections can be broken, or will be refused by newer libraries: Java, OpenSSL and "
    "Go have turned old versions, weak suites and small keys off, so an upgrade of one side ends the connections.",
    looks_at="The version and the cipher suite that servers chose, and the keys in their certificates (which TLS 1.3 "
    f"encrypts): {', '.join(OLD_VERSIONS)}; suites without encryption or authentication, of export strength, with RC4, "
    f"DES or 3DES; as information suites without forward secrecy; keys of less than {limit.SMALL_RSA_BITS} bits (rsa) "
    f"or {limit.SMALL_EC_BITS} (ec).",
    advice=f"Allow TLSv1.2 and TLSv1.3 with their usual cipher suites only ({_SETTINGS}).",
    sources=("RFC 8996", "RFC 9325"),
    detectors=(_VERSIONS, _SUITES, _KEYS),
)
