"""franz-go.

Source: pkg/kgo/broker.go and pkg/kgo/config.go (1.22).
"""

from kafkascope_parsers.tls.client_libraries import GO
from kafkascope_spark.stories.libraries.library import EVERY, Library, Profile, Setting
from kafkascope_spark.stories.libraries.versions import up_to

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({3, 4, 5}), first_id=0,
            versions=up_to(13, 18, 11, 13, 10, 10, 6, 9, 4, 5, 5, 5, 1, 2)),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("kgo.SeedBrokers"),
    "session_timeout": Setting("kgo.SessionTimeout", "45 s"),
    "heartbeat_interval": Setting("kgo.HeartbeatInterval", "3 s"),
    "poll_interval": Setting("kgo.RebalanceTimeout", "60 s"),
    "poll_records": Setting("maxPollRecords of kgo.Client.PollRecords"),
    "request_timeout": Setting("kgo.RequestTimeoutOverhead", "10 s"),
    "connect_timeout": Setting("kgo.DialTimeout", "10 s"),
    "delivery_timeout": Setting("kgo.RecordDeliveryTimeout", "no limit"),
    "metadata_age": Setting("kgo.MetadataMaxAge", "5 min"),
    "retry_backoff": Setting("kgo.RetryBackoffFn", "250 ms"),
    "resend_wait": Setting("kgo.MetadataMinAge", "5 s"),
    "reconnect_backoff": Setting("kgo.RetryBackoffFn", "5 s at most"),
    "max_idle": Setting("kgo.ConnIdleTimeout", "30 s"),
    "linger": Setting("kgo.ProducerLinger", "10 ms"),
    "batch_size": Setting("kgo.ProducerBatchMaxBytes", "1000012"),
    "request_size": Setting("kgo.ProducerBatchMaxBytes", "1000012"),
    "compression": Setting("kgo.ProducerBatchCompression", "snappy"),
    "in_flight": Setting("kgo.MaxProduceRequestsInflightPerBroker", "1"),
    "acks": Setting("kgo.RequiredAcks(kgo.AllISRAcks())", "all"),
    "transaction_timeout": Setting("kgo.TransactionTimeout", "40 s"),
    "transactional_id": Setting("kgo.TransactionalID"),
    "instance_id": Setting("kgo.InstanceID"),
    "cooperative": Setting("kgo.Balancers(kgo.CooperativeStickyBalancer())", "so"),
    "commit_interval": Setting("kgo.AutoCommitInterval", "5 s"),
    "fetch_wait": Setting("kgo.FetchMaxWait", "5 s"),
    "fetch_min": Setting("kgo.FetchMinBytes", "1"),
    "fetch_max": Setting("kgo.FetchMaxBytes"),
    "offset_reset": Setting("kgo.ConsumeResetOffset"),
    "security": Setting("kgo.DialTLSConfig and kgo.SASL"),
    "mechanism": Setting("kgo.SASL"),
    "credentials": Setting("kgo.SASL"),
    "truststore": Setting("RootCAs of kgo.DialTLSConfig"),
    "keystore": Setting("Certificates of kgo.DialTLSConfig"),
    "tls_versions": Setting("MinVersion of kgo.DialTLSConfig"),
    "tls_suites": Setting("CipherSuites of kgo.DialTLSConfig"),
    "name_check": Setting("ServerName of kgo.DialTLSConfig"),
}

FRANZ_GO = Library(
    name="franz-go",
    software_names=(
        "kgo",
        "franz-go",
    ),
    tls_library=GO,
    profiles=_PROFILES,
    settings=_SETTINGS,
    commit_ms=5_000,
    has_seed_connection=True,
)
