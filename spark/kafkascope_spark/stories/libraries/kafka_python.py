"""kafka-python.

Source: kafka/conn.py and kafka/protocol (2.0, 3.0) for the profiles; consumer/group.py and producer/kafka.py (3.0)
for the settings.
"""

from kafkascope_parsers import api_keys
from kafkascope_parsers.tls.client_libraries import PYTHON
from kafkascope_spark.stories.libraries.library import EVERY, FIRST, NEVER, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.versions import only, up_to

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({3, 4}), first_id=1,
            versions=up_to(9, 12, 11, 13, 8, 8, 6, 7, 4, 5, 5, 4, 1, 2)),
    Profile(greets=FIRST, greetings=frozenset({0}), first_id=1, releases=(),
            versions={**only(7, 4, 1, None, 2, 1, 0, 2, 1, 1, 1, None, 1, 0), api_keys.METADATA: (0, 1)}),
    Profile(greets=NEVER, first_id=1, releases=(),  # api_version (0, 10) and before
            versions={**only(None, None, 0, None, 2, 1, 0, 0, 0, 0, 0, None, 0, None), api_keys.METADATA: (0, 1),
                      api_keys.PRODUCE: (0, 1, 2), api_keys.FETCH: (0, 1, 2), api_keys.OFFSET_COMMIT: (0, 1, 2),
                      api_keys.OFFSET_FETCH: (0, 1)}),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("bootstrap_servers"),
    "session_timeout": Setting("session_timeout_ms", "45000"),
    "heartbeat_interval": Setting("heartbeat_interval_ms", "3000"),
    "poll_interval": Setting("max_poll_interval_ms", "300000"),
    "poll_records": Setting("max_poll_records", "500"),
    "request_timeout": Setting("request_timeout_ms", "30000"),
    "delivery_timeout": Setting("delivery_timeout_ms", "120000"),
    "metadata_age": Setting("metadata_max_age_ms", "300000"),
    "retry_backoff": Setting("retry_backoff_ms", "100"),
    "resend_wait": Setting("retry_backoff_ms", "100"),
    "reconnect_backoff": Setting("reconnect_backoff_max_ms", "30000"),
    "max_idle": Setting("connections_max_idle_ms", "540000"),
    "linger": Setting("linger_ms", "0"),
    "batch_size": Setting("batch_size", "16384"),
    "request_size": Setting("max_request_size", "1048576"),
    "compression": Setting("compression_type", "none"),
    "in_flight": Setting("max_in_flight_requests_per_connection", "5"),
    "acks": Setting("acks='all'", "all; 1 before 3.0"),
    "transaction_timeout": Setting("transaction_timeout_ms", "60000"),
    "transactional_id": Setting("transactional_id"),
    "instance_id": Setting("group_instance_id"),
    "commit_interval": Setting("auto_commit_interval_ms", "5000"),
    "fetch_wait": Setting("fetch_max_wait_ms", "500"),
    "fetch_min": Setting("fetch_min_bytes", "1"),
    "fetch_max": Setting("fetch_max_bytes"),
    "offset_reset": Setting("auto_offset_reset"),
    "security": Setting("security_protocol"),
    "mechanism": Setting("sasl_mechanism"),
    "credentials": Setting("sasl_plain_username and sasl_plain_password"),
    "truststore": Setting("ssl_cafile"),
    "keystore": Setting("ssl_certfile and ssl_keyfile"),
    "tls_versions": Setting("ssl_context"),
    "tls_suites": Setting("ssl_ciphers"),
    "name_check": Setting("ssl_check_hostname"),
}

KAFKA_PYTHON = Library(
    name="kafka-python",
    software_names=("kafka-python",),
    tls_library=PYTHON,
    profiles=_PROFILES,
    settings=_SETTINGS,
    commit_ms=5_000,
    # ApiVersions depends on api_version.
    optional_steps=frozenset({"api_versions"}),
    upgrade=Upgrade("kafka-python", (2, 0, 2), "leave api_version out, so that it asks the brokers"),
)
