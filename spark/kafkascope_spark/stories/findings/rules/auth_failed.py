"""`auth_failed`: a broker refused a client's credentials, or a client did not authenticate."""

from kafkascope_spark.stories.findings.client_faults import client_fault_detector
from kafkascope_spark.stories.findings.rule import Rule
from kafkascope_spark.stories.settings import settings

RULE = Rule(
    name="auth_failed",
    title="A client was not authenticated",
    severity="error",
    meaning="Authentication failed, so the client cannot do any of its work. Clients try again and "
    "again, and brokers delay each answer (connection.failed.authentication.delay.ms).",
    looks_at="Incidents of clients with wrong settings: SaslHandshake and SaslAuthenticate answered with "
    "SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM or ILLEGAL_SASL_STATE; and connections without SASL to an "
    "address where others use SASL, closed by the broker on their first request after ApiVersions. It says nothing of "
    "TLS that is not decrypted. Credentials are never shown; a user name only where the broker let the client in on "
    "another connection.",
    advice=f"Correct {settings(('security', 'mechanism', 'credentials'))} of the client, or its credentials on the "
    "cluster.",
    sources=("KIP-43", "KIP-152", "KIP-368", "SaslServerAuthenticator"),
    detectors=(client_fault_detector("auth_failed"),),
)
