"""A batch with messages of several versions is read like batches of one version each, for every message of Kafka.

The frames are those that Kafka's own classes wrote (fixtures/vectors). A cluster during a rolling upgrade has several
versions on one connection, and some messages hold the same facts at other places in other versions.
"""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.scan.errors import error_rows
from kafkascope_analyzer.scan.message_fields import partition_fields
from kafkascope_analyzer.scan.partitions import partition_rows
from kafkascope_analyzer.scan.record_batches import record_sets
from kafkascope_analyzer.scan.request_facts import (
    REQUEST_INTS,
    REQUEST_TEXTS,
    RESPONSE_INTS,
    RESPONSE_TEXTS,
    FactColumns,
)
from kafkascope_analyzer.scan.topology import topology_rows
from kafkascope_analyzer.scan.value_ranges import OutOfRange
from kafkascope_parsers.machine import decode_messages
from kafkascope_parsers.machine.arrow import to_arrow
from kafkascope_parsers.schema import api_name, message_type

FRAMES = Path(__file__).parents[3] / "fixtures" / "vectors" / "frames.jsonl.gz"
FACTS = {"request": (REQUEST_INTS, REQUEST_TEXTS), "response": (RESPONSE_INTS, RESPONSE_TEXTS)}


def vectors():
    """(API key, direction) -> frames, of all versions."""
    found = defaultdict(list)
    with gzip.open(FRAMES) as lines:
        for line in lines:
            frame = json.loads(line)
            found[frame["api_key"], frame["direction"]].append(frame)
    return found


VECTORS = vectors()


def decoded(message, frames):
    """One batch of these frames."""
    raws = [bytes.fromhex(frame["frame_hex"])[4:] for frame in frames]
    ends = np.cumsum([len(raw) for raw in raws])
    buf = np.frombuffer(bytearray(b"".join(raws)), np.uint8)
    versions = np.array([frame["version"] for frame in frames], np.int16)
    (columns,) = decode_messages(message, buf, ends - [len(raw) for raw in raws], ends, versions)
    assert not columns.failures
    return columns


def rows_of(columns, numbers):
    """Everything that the scan reads of a batch, as rows by the number of their frame."""
    message = columns.message
    n = int(numbers.max()) + 1
    facts = FactColumns(n, *FACTS[message.direction])
    facts.put(message, columns, numbers)
    tables = {
        "facts": pa.table({"row": pa.array(np.arange(n)), **facts.arrow()}),
        "topology": topology_rows(columns, numbers, api_name(message.api_key), message.direction),
        "messages": to_arrow(columns).add_column(0, "row", pa.array(numbers)),
        "record_sets": record_sets(columns, numbers)[0],
    }
    if message.direction == "response":
        tables["errors"] = error_rows(columns, numbers)
    rows = [(name, row) for name, table in tables.items() for row in table.to_pylist()]
    for part in partition_rows(columns, numbers, OutOfRange()):
        rows += [("partitions", row) for row in pa.table({"row": part.row, **part.columns}).to_pylist()]
    return {
        number: sorted(
            repr((name, sorted((k, v) for k, v in row.items() if v is not None)))
            for name, row in rows
            if row["row"] == number
        )
        for number in numbers.tolist()
    }


@pytest.mark.parametrize(("api_key", "direction"), VECTORS)
def test_versions_mixed_in_a_batch_are_read_like_each_alone(api_key, direction):
    frames = VECTORS[api_key, direction]
    message = message_type(api_key, direction)
    order = np.random.default_rng(api_key).permutation(len(frames))
    mixed = rows_of(decoded(message, [frames[i] for i in order]), order)
    for version in {frame["version"] for frame in frames}:
        numbers = np.array([i for i, frame in enumerate(frames) if frame["version"] == version])
        alone = rows_of(decoded(message, [frames[i] for i in numbers]), numbers)
        assert {number: mixed[number] for number in alone} == alone, version


@pytest.mark.parametrize(("api_key", "direction"), VECTORS)
def test_each_partition_has_its_topic_in_every_version(api_key, direction):
    full = [frame for frame in VECTORS[api_key, direction] if frame["profile"] == "full"]
    message = message_type(api_key, direction)
    if full and partition_fields(message):
        columns = decoded(message, full)
        for part in partition_rows(columns, np.arange(len(full)), OutOfRange()):
            named = [part.columns[name].is_valid() for name in ("topic", "topic_id") if name in part.columns]
            assert np.logical_or.reduce([valid.to_numpy(zero_copy_only=False) for valid in named]).all()
