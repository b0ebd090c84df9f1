"""KafkaJS.

Source: src/protocol/requests, src/network/connection.js and src/broker/index.js (2.2) for the profile; its docs and
src/index.js, src/consumer/index.js, src/retry/defaults.js for the settings.
"""

from kafkascope_parsers.tls.client_libraries import NODEJS
from kafkascope_spark.stories.libraries.library import FIRST, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.versions import up_to

# fmt: off
_PROFILES = (
    Profile(greets=FIRST, greetings=frozenset({2}), first_id=0,
            versions=up_to(7, 11, 3, 6, 5, 4, 2, 5, 3, 3, 3, 1, 1, 1)),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("brokers"),
    "session_timeout": Setting("sessionTimeout", "30000"),
    "heartbeat_interval": Setting("heartbeatInterval", "3000"),
    "poll_interval": Setting("rebalanceTimeout", "60000"),
    "request_timeout": Setting("requestTimeout", "30000"),
    "connect_timeout": Setting("connectionTimeout", "1000"),
    "delivery_timeout": Setting("retry.retries", "5"),
    "metadata_age": Setting("metadataMaxAge", "300000"),
    "retry_backoff": Setting("retry.initialRetryTime", "300"),
    "resend_wait": Setting("retry.initialRetryTime", "300"),
    "reconnect_backoff": Setting("retry.maxRetryTime", "30000"),
    "compression": Setting("compression of producer.send", "none"),
    "in_flight": Setting("maxInFlightRequests", "no limit"),
    "acks": Setting("acks: -1 in producer.send", "-1"),
    "transaction_timeout": Setting("transactionTimeout", "60000"),
    "transactional_id": Setting("transactionalId"),
    "commit_interval": Setting("autoCommitInterval of consumer.run"),
    "fetch_wait": Setting("maxWaitTimeInMs", "5000"),
    "fetch_min": Setting("minBytes", "1"),
    "fetch_max": Setting("maxBytes"),
    "offset_reset": Setting("fromBeginning of consumer.subscribe"),
    "security": Setting("ssl and sasl"),
    "mechanism": Setting("sasl.mechanism"),
    "credentials": Setting("sasl.username and sasl.password"),
    "truststore": Setting("ssl.ca"),
    "keystore": Setting("ssl.cert and ssl.key"),
    "tls_versions": Setting("ssl.minVersion"),
    "tls_suites": Setting("ssl.ciphers"),
    "name_check": Setting("ssl.servername"),
}

KAFKAJS = Library(
    name="kafkajs",
    software_names=("kafkajs",),
    tls_library=NODEJS,
    profiles=_PROFILES,
    settings=_SETTINGS,
    # It fetches offsets for each consumer run and topic.
    repeated_steps=frozenset({"offset_fetch"}),
    upgrade=Upgrade("KafkaJS", (1, 15, 0)),
)
