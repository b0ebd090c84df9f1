"""Sarama.

Source: broker.go and *_request.go (1.29, 1.61) for the profiles; config.go, NewConfig (1.61) for the settings.
"""

from kafkascope_parsers import api_keys
from kafkascope_parsers.tls.client_libraries import GO
from kafkascope_spark.stories.libraries.library import EVERY, NEVER, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.versions import only, up_to

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({3, 4}), first_id=0,
            versions=up_to(10, 12, 6, 11, 8, 8, 3, 8, 4, 5, 5, 4, 1, 2)),
    Profile(greets=NEVER, first_id=0, releases=(),  # Config.Version 1.0, its default, and later
            versions={**only(None, None, 1, 5, 1, 1, 0, 1, 0, 0, 0, 0, None, None),
                      api_keys.PRODUCE: (3, 7), api_keys.FETCH: (4, 7, 10, 11)}),
    Profile(greets=NEVER, first_id=0, releases=(),  # Config.Version 0.10 to 0.11
            versions={**up_to(3, 5, 1, 4, 2, 3, 1, 2, 1, 1, 1, 0, None, None),
                      api_keys.PRODUCE: (2, 3), api_keys.METADATA: (1, 2, 3, 4), api_keys.FETCH: (2, 3, 4, 5)}),
    Profile(greets=NEVER, first_id=0, releases=(),  # Config.Version 0.8 and 0.9
            versions=only(0, 0, 0, 0, None, 1, 0, 0, 0, 0, 0, None, None, None)),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("the addresses given to sarama.NewClient"),
    "session_timeout": Setting("Consumer.Group.Session.Timeout", "10 s"),
    "heartbeat_interval": Setting("Consumer.Group.Heartbeat.Interval", "3 s"),
    "poll_interval": Setting("Consumer.Group.Rebalance.Timeout", "60 s"),
    "request_timeout": Setting("Net.ReadTimeout", "30 s"),
    "connect_timeout": Setting("Net.DialTimeout", "30 s"),
    "delivery_timeout": Setting("Producer.Retry.Max", "3"),
    "metadata_age": Setting("Metadata.RefreshFrequency", "10 min"),
    "retry_backoff": Setting("Metadata.Retry.Backoff", "250 ms"),
    "resend_wait": Setting("Metadata.Retry.Backoff", "250 ms"),
    "linger": Setting("Producer.Flush.Frequency", "off"),
    "batch_size": Setting("Producer.Flush.Bytes", "off"),
    "request_size": Setting("Producer.MaxMessageBytes", "1048576"),
    "compression": Setting("Producer.Compression", "none"),
    "in_flight": Setting("Net.MaxOpenRequests", "5"),
    "acks": Setting("Producer.RequiredAcks = sarama.WaitForAll", "WaitForLocal"),
    "transaction_timeout": Setting("Producer.Transaction.Timeout", "60 s"),
    "transactional_id": Setting("Producer.Transaction.ID"),
    "instance_id": Setting("Consumer.Group.InstanceId"),
    "commit_interval": Setting("Consumer.Offsets.AutoCommit.Interval", "1 s"),
    "fetch_wait": Setting("Consumer.MaxWaitTime", "500 ms"),
    "fetch_min": Setting("Consumer.Fetch.Min", "1"),
    "fetch_max": Setting("Consumer.Fetch.MaxBytes"),
    "offset_reset": Setting("Consumer.Offsets.Initial"),
    "security": Setting("Net.TLS.Enable and Net.SASL.Enable"),
    "mechanism": Setting("Net.SASL.Mechanism"),
    "credentials": Setting("Net.SASL.User and Net.SASL.Password"),
    "truststore": Setting("RootCAs of Net.TLS.Config"),
    "keystore": Setting("Certificates of Net.TLS.Config"),
    "tls_versions": Setting("MinVersion of Net.TLS.Config"),
    "tls_suites": Setting("CipherSuites of Net.TLS.Config"),
    "name_check": Setting("ServerName of Net.TLS.Config"),
}

SARAMA = Library(
    name="sarama",
    software_names=("sarama",),
    tls_library=GO,
    profiles=_PROFILES,
    settings=_SETTINGS,
    commit_ms=1_000,
    metadata_ms=600_000,
    has_seed_connection=True,
    # Before its release 1.30 it sends no ApiVersions.
    optional_steps=frozenset({"api_versions"}),
    # Its offset manager sends its own FindCoordinator beside that of the group, and fetches offsets by partition.
    repeated_steps=frozenset({"find_coordinator_group", "offset_fetch"}),
    upgrade=Upgrade("Sarama", (1, 30, 1), "set Version of its Config to the release of the brokers"),
)
