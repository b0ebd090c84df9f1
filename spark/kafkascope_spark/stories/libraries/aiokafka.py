"""aiokafka.

Source: aiokafka/protocol and aiokafka/conn.py (0.8, 0.14) for the profiles; consumer.py and producer.py (0.14) for the
settings.
"""

from kafkascope_parsers import api_keys
from kafkascope_parsers.tls.client_libraries import PYTHON
from kafkascope_spark.stories.libraries.library import BUT_FIRST, EVERY, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.versions import only, up_to

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({0}), first_id=1,
            versions={**up_to(7, 11, 3, 5, 3, 3, 1, None, 1, 1, None, 0, 1, 1),
                      api_keys.JOIN_GROUP: (0, 1, 2, 5), api_keys.SYNC_GROUP: (0, 1, 3)}),
    Profile(greets=BUT_FIRST, greetings=frozenset({0}), first_id=1, releases=(),
            versions={**only(7, 4, 1, None, 2, 1, 1, 2, 1, 1, 1, 0, 1, 0), api_keys.METADATA: (0, 1)}),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("bootstrap_servers"),
    "session_timeout": Setting("session_timeout_ms", "10000"),
    "heartbeat_interval": Setting("heartbeat_interval_ms", "3000"),
    "poll_interval": Setting("max_poll_interval_ms", "300000"),
    "poll_records": Setting("max_poll_records"),
    "request_timeout": Setting("request_timeout_ms", "40000"),
    "delivery_timeout": Setting("request_timeout_ms", "40000"),
    "metadata_age": Setting("metadata_max_age_ms", "300000"),
    "retry_backoff": Setting("retry_backoff_ms", "100"),
    "resend_wait": Setting("retry_backoff_ms", "100"),
    "max_idle": Setting("connections_max_idle_ms", "540000"),
    "linger": Setting("linger_ms", "0"),
    "batch_size": Setting("max_batch_size", "16384"),
    "request_size": Setting("max_request_size", "1048576"),
    "compression": Setting("compression_type", "none"),
    "acks": Setting("acks='all'", "1"),
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
    "truststore": Setting("cafile of ssl_context"),
    "keystore": Setting("certfile and keyfile of ssl_context"),
    "tls_versions": Setting("minimum_version of ssl_context"),
    "tls_suites": Setting("set_ciphers of ssl_context"),
    "name_check": Setting("check_hostname of ssl_context"),
}

AIOKAFKA = Library(
    name="aiokafka",
    software_names=("aiokafka",),
    tls_library=PYTHON,
    profiles=_PROFILES,
    settings=_SETTINGS,
    commit_ms=5_000,
    upgrade=Upgrade("aiokafka", None, "leave api_version at auto"),
)
