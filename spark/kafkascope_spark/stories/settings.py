"""Settings of client libraries, by what they do: the name that each library gives a setting, and its default.

A client is advised in the words of its own library. Where the library is unknown, the Java client's name stands, and
the text says so.

Sources: the Java client's ProducerConfig, ConsumerConfig and CommonClientConfigs (4.3); librdkafka's CONFIGURATION.md
(2.16); franz-go's pkg/kgo/config.go (1.22); sarama's config.go, NewConfig (1.61); kafkajs' docs and src/index.js,
src/consumer/index.js, src/retry/defaults.js (2.2); kafka-python's consumer/group.py and producer/kafka.py (3.0);
aiokafka's consumer.py and producer.py (0.14); kafka-go's reader.go, writer.go, transport.go and dialer.go (0.4).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

JAVA, UNKNOWN = "java", "unknown"
ORDER = ("java", "librdkafka", "franz-go", "sarama", "kafkajs", "kafka-python", "aiokafka", "kafka-go")
"""The order of the columns of the tables below, and of libraries in a text."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of one library. default: as its documentation gives it; None: not worth a word."""

    name: str
    default: str | None = None


_Cell = str | tuple[str, str] | None


def _row(*cells: _Cell) -> dict[str, Setting]:
    """Library -> setting, from a cell for each of ORDER: the name, or name and default; None: there is no such one."""
    pairs = zip(ORDER, ((cell, None) if isinstance(cell, str) else cell for cell in cells), strict=True)
    return {library: Setting(*cell) for library, cell in pairs if cell is not None}


SETTINGS: Mapping[str, Mapping[str, Setting]] = {
    "bootstrap": _row(
        "bootstrap.servers",
        "bootstrap.servers",
        "kgo.SeedBrokers",
        "the addresses given to sarama.NewClient",
        "brokers",
        "bootstrap_servers",
        "bootstrap_servers",
        "ReaderConfig.Brokers and Writer.Addr",
    ),
    "session_timeout": _row(
        ("session.timeout.ms", "45000"),
        ("session.timeout.ms", "45000"),
        ("kgo.SessionTimeout", "45 s"),
        ("Consumer.Group.Session.Timeout", "10 s"),
        ("sessionTimeout", "30000"),
        ("session_timeout_ms", "45000"),
        ("session_timeout_ms", "10000"),
        ("ReaderConfig.SessionTimeout", "30 s"),
    ),
    "heartbeat_interval": _row(
        ("heartbeat.interval.ms", "3000"),
        ("heartbeat.interval.ms", "3000"),
        ("kgo.HeartbeatInterval", "3 s"),
        ("Consumer.Group.Heartbeat.Interval", "3 s"),
        ("heartbeatInterval", "3000"),
        ("heartbeat_interval_ms", "3000"),
        ("heartbeat_interval_ms", "3000"),
        ("ReaderConfig.HeartbeatInterval", "3 s"),
    ),
    "poll_interval": _row(
        ("max.poll.interval.ms", "300000"),
        ("max.poll.interval.ms", "300000"),
        ("kgo.RebalanceTimeout", "60 s"),
        ("Consumer.Group.Rebalance.Timeout", "60 s"),
        ("rebalanceTimeout", "60000"),
        ("max_poll_interval_ms", "300000"),
        ("max_poll_interval_ms", "300000"),
        ("ReaderConfig.RebalanceTimeout", "30 s"),
    ),
    "poll_records": _row(
        ("max.poll.records", "500"),
        None,
        "the argument of kgo.Client.PollRecords",
        None,
        None,
        ("max_poll_records", "500"),
        "max_poll_records",
        None,
    ),
    "request_timeout": _row(
        ("request.timeout.ms", "30000"),
        ("socket.timeout.ms", "60000"),
        ("kgo.RequestTimeoutOverhead", "10 s"),
        ("Net.ReadTimeout", "30 s"),
        ("requestTimeout", "30000"),
        ("request_timeout_ms", "30000"),
        ("request_timeout_ms", "40000"),
        ("Writer.ReadTimeout and ReaderConfig.ReadBatchTimeout", "10 s"),
    ),
    "connect_timeout": _row(
        ("socket.connection.setup.timeout.ms", "10000"),
        ("socket.connection.setup.timeout.ms", "30000"),
        ("kgo.DialTimeout", "10 s"),
        ("Net.DialTimeout", "30 s"),
        ("connectionTimeout", "1000"),
        None,
        None,
        ("Dialer.Timeout", "10 s"),
    ),
    "delivery_timeout": _row(
        ("delivery.timeout.ms", "120000"),
        ("message.timeout.ms", "300000"),
        ("kgo.RecordDeliveryTimeout", "no limit"),
        ("Producer.Retry.Max", "3"),
        ("retry.retries", "5"),
        ("delivery_timeout_ms", "120000"),
        ("request_timeout_ms", "40000"),
        ("Writer.MaxAttempts", "10"),
    ),
    "metadata_age": _row(
        ("metadata.max.age.ms", "300000"),
        ("topic.metadata.refresh.interval.ms", "300000"),
        ("kgo.MetadataMaxAge", "5 min"),
        ("Metadata.RefreshFrequency", "10 min"),
        ("metadataMaxAge", "300000"),
        ("metadata_max_age_ms", "300000"),
        ("metadata_max_age_ms", "300000"),
        ("Transport.MetadataTTL", "6 s"),
    ),
    "retry_backoff": _row(
        ("retry.backoff.ms", "100"),
        ("retry.backoff.ms", "100"),
        ("kgo.RetryBackoffFn", "250 ms"),
        ("Metadata.Retry.Backoff", "250 ms"),
        ("retry.initialRetryTime", "300"),
        ("retry_backoff_ms", "100"),
        ("retry_backoff_ms", "100"),
        ("Writer.WriteBackoffMin", "100 ms"),
    ),
    "reconnect_backoff": _row(
        ("reconnect.backoff.max.ms", "1000"),
        ("reconnect.backoff.max.ms", "10000"),
        ("kgo.RetryBackoffFn", "5 s at most"),
        None,
        ("retry.maxRetryTime", "30000"),
        ("reconnect_backoff_max_ms", "30000"),
        None,
        None,
    ),
    "max_idle": _row(
        ("connections.max.idle.ms", "540000"),
        ("connections.max.idle.ms", "0: off"),
        ("kgo.ConnIdleTimeout", "30 s"),
        None,
        None,
        ("connections_max_idle_ms", "540000"),
        ("connections_max_idle_ms", "540000"),
        ("Transport.IdleTimeout", "30 s"),
    ),
    "linger": _row(
        ("linger.ms", "5; 0 before Kafka 4.0"),
        ("linger.ms", "5"),
        ("kgo.ProducerLinger", "10 ms"),
        ("Producer.Flush.Frequency", "off"),
        None,
        ("linger_ms", "0"),
        ("linger_ms", "0"),
        ("Writer.BatchTimeout", "1 s"),
    ),
    "batch_size": _row(
        ("batch.size", "16384"),
        ("batch.size", "1000000"),
        ("kgo.ProducerBatchMaxBytes", "1000012"),
        ("Producer.Flush.Bytes", "off"),
        None,
        ("batch_size", "16384"),
        ("max_batch_size", "16384"),
        ("Writer.BatchBytes", "1048576"),
    ),
    "request_size": _row(
        ("max.request.size", "1048576"),
        ("message.max.bytes", "1000000"),
        ("kgo.ProducerBatchMaxBytes", "1000012"),
        ("Producer.MaxMessageBytes", "1048576"),
        None,
        ("max_request_size", "1048576"),
        ("max_request_size", "1048576"),
        ("Writer.BatchBytes", "1048576"),
    ),
    "compression": _row(
        ("compression.type", "none"),
        ("compression.type", "none"),
        ("kgo.ProducerBatchCompression", "snappy"),
        ("Producer.Compression", "none"),
        ("compression of producer.send", "none"),
        ("compression_type", "none"),
        ("compression_type", "none"),
        ("Writer.Compression", "none"),
    ),
    "in_flight": _row(
        ("max.in.flight.requests.per.connection", "5"),
        ("max.in.flight.requests.per.connection", "1000000; 5 with enable.idempotence"),
        ("kgo.MaxProduceRequestsInflightPerBroker", "1"),
        ("Net.MaxOpenRequests", "5"),
        ("maxInFlightRequests", "no limit"),
        ("max_in_flight_requests_per_connection", "5"),
        None,
        None,
    ),
    "acks": _row(
        ("acks=all", "all"),
        ("acks=all", "all"),
        ("kgo.RequiredAcks(kgo.AllISRAcks())", "all"),
        ("Producer.RequiredAcks = sarama.WaitForAll", "WaitForLocal"),
        ("acks: -1 in producer.send", "-1"),
        ("acks='all'", "all; 1 before 3.0"),
        ("acks='all'", "1"),
        ("Writer.RequiredAcks = kafka.RequireAll", "RequireNone"),
    ),
    "transaction_timeout": _row(
        ("transaction.timeout.ms", "60000"),
        ("transaction.timeout.ms", "60000"),
        ("kgo.TransactionTimeout", "40 s"),
        ("Producer.Transaction.Timeout", "60 s"),
        ("transactionTimeout", "60000"),
        ("transaction_timeout_ms", "60000"),
        ("transaction_timeout_ms", "60000"),
        None,
    ),
    "transactional_id": _row(
        "transactional.id",
        "transactional.id",
        "kgo.TransactionalID",
        "Producer.Transaction.ID",
        "transactionalId",
        "transactional_id",
        "transactional_id",
        None,
    ),
    "instance_id": _row(
        "group.instance.id",
        "group.instance.id",
        "kgo.InstanceID",
        "Consumer.Group.InstanceId",
        None,
        "group_instance_id",
        "group_instance_id",
        None,
    ),
    "cooperative": _row(
        "partition.assignment.strategy with org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        "partition.assignment.strategy=cooperative-sticky",
        ("kgo.Balancers(kgo.CooperativeStickyBalancer())", "so"),
        None,
        None,
        None,
        None,
        None,
    ),
    "group_protocol": _row("group.protocol=consumer", "group.protocol=consumer", None, None, None, None, None, None),
    "commit_interval": _row(
        ("auto.commit.interval.ms", "5000"),
        ("auto.commit.interval.ms", "5000"),
        ("kgo.AutoCommitInterval", "5 s"),
        ("Consumer.Offsets.AutoCommit.Interval", "1 s"),
        "autoCommitInterval of consumer.run",
        ("auto_commit_interval_ms", "5000"),
        ("auto_commit_interval_ms", "5000"),
        ("ReaderConfig.CommitInterval", "0: each commit at once"),
    ),
    "fetch_wait": _row(
        ("fetch.max.wait.ms", "500"),
        ("fetch.wait.max.ms", "500"),
        ("kgo.FetchMaxWait", "5 s"),
        ("Consumer.MaxWaitTime", "500 ms"),
        ("maxWaitTimeInMs", "5000"),
        ("fetch_max_wait_ms", "500"),
        ("fetch_max_wait_ms", "500"),
        ("ReaderConfig.MaxWait", "10 s"),
    ),
    "fetch_min": _row(
        ("fetch.min.bytes", "1"),
        ("fetch.min.bytes", "1"),
        ("kgo.FetchMinBytes", "1"),
        ("Consumer.Fetch.Min", "1"),
        ("minBytes", "1"),
        ("fetch_min_bytes", "1"),
        ("fetch_min_bytes", "1"),
        ("ReaderConfig.MinBytes", "1"),
    ),
    "fetch_max": _row(
        "fetch.max.bytes",
        "fetch.max.bytes",
        "kgo.FetchMaxBytes",
        "Consumer.Fetch.MaxBytes",
        "maxBytes",
        "fetch_max_bytes",
        "fetch_max_bytes",
        "ReaderConfig.MaxBytes",
    ),
    "offset_reset": _row(
        "auto.offset.reset",
        "auto.offset.reset",
        "kgo.ConsumeResetOffset",
        "Consumer.Offsets.Initial",
        "fromBeginning of consumer.subscribe",
        "auto_offset_reset",
        "auto_offset_reset",
        "ReaderConfig.StartOffset",
    ),
    "security": _row(
        "security.protocol",
        "security.protocol",
        "kgo.DialTLSConfig and kgo.SASL",
        "Net.TLS.Enable and Net.SASL.Enable",
        "ssl and sasl",
        "security_protocol",
        "security_protocol",
        "Transport.TLS and Transport.SASL (Dialer of a Reader)",
    ),
    "mechanism": _row(
        "sasl.mechanism",
        "sasl.mechanism",
        "kgo.SASL",
        "Net.SASL.Mechanism",
        "sasl.mechanism",
        "sasl_mechanism",
        "sasl_mechanism",
        "Transport.SASL (Dialer.SASLMechanism of a Reader)",
    ),
    "credentials": _row(
        "sasl.jaas.config",
        "sasl.username and sasl.password",
        "kgo.SASL",
        "Net.SASL.User and Net.SASL.Password",
        "sasl.username and sasl.password",
        "sasl_plain_username and sasl_plain_password",
        "sasl_plain_username and sasl_plain_password",
        "Transport.SASL (Dialer.SASLMechanism of a Reader)",
    ),
}
"""What a setting does -> library -> the setting. A library without such a setting has no entry."""
_SHOWN = {"java": "Java"}


def setting(concept: str, libraries: Collection[str] = (), *, defaults: bool = False) -> str | None:
    """The name of the setting for clients of these libraries: `sessionTimeout (kafkajs)`; of several libraries each:
    `session.timeout.ms (Java), sessionTimeout (kafkajs)`. Java's name alone stands for Java clients, and is marked
    `(Java name)` where no library is known. None: these libraries have no such setting.

    defaults: whether the default values are named too.
    """
    known = [library for library in ORDER if library in libraries]
    of_library = SETTINGS[concept]
    if not known:
        java = of_library[JAVA]
        return f"{java.name} ({_in_brackets(['Java name'], java.default if defaults else None)})"
    users: dict[str, dict[str | None, list[str]]] = {}
    for library in known:
        if library in of_library:
            own = of_library[library]
            default = own.default if defaults else None
            users.setdefault(own.name, {}).setdefault(default, []).append(_SHOWN.get(library, library))
    if known == [JAVA]:
        return next((_java_alone(name, default) for name, same in users.items() for default in same), None)
    listed = (
        f"{name} ({'; '.join(_in_brackets(who, default) for default, who in same.items())})"
        for name, same in users.items()
    )
    return ", ".join(listed) or None


def settings(concepts: Collection[str], libraries: Collection[str] = (), *, defaults: bool = False) -> str | None:
    """Several settings, joined by `and`; None: these libraries have none of them."""
    found = [name for c in concepts if (name := setting(c, libraries, defaults=defaults)) is not None]
    return " and ".join(dict.fromkeys(found)) or None


def _java_alone(name: str, default: str | None) -> str:
    return name if default is None else f"{name} (default {default})"


def _in_brackets(words: list[str], default: str | None) -> str:
    return ", ".join(words if default is None else [*words, f"default {default}"])
