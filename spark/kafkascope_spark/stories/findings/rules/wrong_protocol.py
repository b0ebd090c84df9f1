"""`wrong_protocol`: a client uses another protocol than the port."""

from kafkascope_spark.stories.findings.client_faults import client_fault_detector
from kafkascope_spark.stories.findings.rule import Rule
from kafkascope_spark.stories.settings import setting

RULE = Rule(
    name="wrong_protocol",
    title="A client uses another protocol than the port",
    severity="error",
    meaning="TLS to a plain listener, plain Kafka to a TLS listener, HTTP or a load balancer's PROXY header to "
    "either: the broker reads nonsense "
    "and closes. Clients report a lost connection or a huge message size, not the reason.",
    looks_at="Incidents of clients with wrong settings: connections that begin with a TLS handshake and get no byte "
    "back from an address that answers plain Kafka to others; Kafka requests without an answer at an address where "
    "others speak TLS; HTTP, or a header of the PROXY protocol, at an address that speaks either. Where no client "
    "shows what the port speaks, it says "
    "nothing.",
    advice=f"Make {setting('security')} of the client fit to the port in its {setting('bootstrap')}.",
    sources=("RFC 8446", "org.apache.kafka.common.network.NetworkReceive", "SslTransportLayer"),
    detectors=(client_fault_detector("wrong_protocol"),),
)
