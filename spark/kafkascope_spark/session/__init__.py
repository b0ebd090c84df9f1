"""The Spark session: embedded by default, or a cluster's by `--master`, `--remote` or `SPARK_REMOTE`."""

from kafkascope_spark.session.class_archive import keep_class_archive
from kafkascope_spark.session.connectors import StorageConnector, connector_for
from kafkascope_spark.session.java import java_problem
from kafkascope_spark.session.jvm_options import (
    LARGE_REQUESTS,
    SessionSize,
    size_for_events,
    size_for_input,
    size_for_queries,
    size_for_requests,
)
from kafkascope_spark.session.session import (
    active_session,
    cancel_jobs,
    is_embedded,
    launch_early,
    open_session,
    set_size,
)

__all__ = [
    "LARGE_REQUESTS",
    "SessionSize",
    "StorageConnector",
    "active_session",
    "cancel_jobs",
    "connector_for",
    "is_embedded",
    "java_problem",
    "keep_class_archive",
    "launch_early",
    "open_session",
    "set_size",
    "size_for_events",
    "size_for_input",
    "size_for_queries",
    "size_for_requests",
]
