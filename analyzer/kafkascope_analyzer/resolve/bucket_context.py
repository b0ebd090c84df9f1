"""The data about a bucket that a source of events has before it sees the first row."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.event_source import MessageReader
from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.shared_facts import SharedFacts


@dataclass(frozen=True, slots=True)
class BucketContext:
    """connections: the bucket's connections by number, with the columns of the spill (scan.connection_state) and
    node_id; `conn` in the rows of other tables is the index of the row in it. shared: facts about the connections of
    all buckets. spill: the directory of the bucket's spill. runs: runs of requests that fail with the same errors.
    read_messages: reads the bucket's messages, all of which the first pass has written."""

    connections: pa.Table
    topics: TopicNames
    shared: SharedFacts
    spill: Path
    runs: ErrorRuns
    read_messages: MessageReader
