"""kafka-go of Segmentio.

Source: conn.go and protocol/* (0.4) for the profile; reader.go, writer.go, transport.go and dialer.go for the settings.
"""

from kafkascope_parsers import api_keys
from kafkascope_parsers.tls.client_libraries import GO
from kafkascope_spark.stories.libraries.library import EVERY, Library, Profile, Setting
from kafkascope_spark.stories.libraries.versions import only

# fmt: off
_PROFILES = (
    Profile(greets=EVERY, greetings=frozenset({0}), first_id=1, releases=(),
            versions={**only(None, 10, 1, None, 2, 1, 0, 1, 0, 0, 0, None, 1, 0), api_keys.PRODUCE: (7, 8),
                      api_keys.METADATA: (1, 8, 9)}),
)
# fmt: on
_SETTINGS = {
    "bootstrap": Setting("ReaderConfig.Brokers and Writer.Addr"),
    "session_timeout": Setting("ReaderConfig.SessionTimeout", "30 s"),
    "heartbeat_interval": Setting("ReaderConfig.HeartbeatInterval", "3 s"),
    "poll_interval": Setting("ReaderConfig.RebalanceTimeout", "30 s"),
    "request_timeout": Setting("Writer.ReadTimeout and ReaderConfig.ReadBatchTimeout", "10 s"),
    "connect_timeout": Setting("Dialer.Timeout", "10 s"),
    "delivery_timeout": Setting("Writer.MaxAttempts", "10"),
    "metadata_age": Setting("Transport.MetadataTTL", "6 s"),
    "retry_backoff": Setting("Writer.WriteBackoffMin", "100 ms"),
    "resend_wait": Setting("Writer.WriteBackoffMin", "100 ms"),
    "max_idle": Setting("Transport.IdleTimeout", "30 s"),
    "linger": Setting("Writer.BatchTimeout", "1 s"),
    "batch_size": Setting("Writer.BatchBytes", "1048576"),
    "request_size": Setting("Writer.BatchBytes", "1048576"),
    "compression": Setting("Writer.Compression", "none"),
    "acks": Setting("Writer.RequiredAcks = kafka.RequireAll", "RequireNone"),
    "commit_interval": Setting("ReaderConfig.CommitInterval", "0: each commit at once"),
    "fetch_wait": Setting("ReaderConfig.MaxWait", "10 s"),
    "fetch_min": Setting("ReaderConfig.MinBytes", "1"),
    "fetch_max": Setting("ReaderConfig.MaxBytes"),
    "offset_reset": Setting("ReaderConfig.StartOffset"),
    "security": Setting("Transport.TLS and Transport.SASL (Dialer of a Reader)"),
    "mechanism": Setting("Transport.SASL (Dialer.SASLMechanism of a Reader)"),
    "credentials": Setting("Transport.SASL (Dialer.SASLMechanism of a Reader)"),
    "truststore": Setting("RootCAs of Transport.TLS (Dialer.TLS of a Reader)"),
    "keystore": Setting("Certificates of Transport.TLS (Dialer.TLS of a Reader)"),
    "tls_versions": Setting("MinVersion of Transport.TLS"),
    "tls_suites": Setting("CipherSuites of Transport.TLS"),
    "name_check": Setting("ServerName of Transport.TLS"),
}

KAFKA_GO = Library(
    name="kafka-go",
    software_names=("kafka-go",),
    tls_library=GO,
    profiles=_PROFILES,
    settings=_SETTINGS,
)
