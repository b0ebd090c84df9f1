"""Which cluster ids the messages of each connection name."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from kafkascope_analyzer.scan.cluster_ids import MOST_ID_BYTES, NO_ID, ClusterIds
from kafkascope_parsers.exchanges import Messages
from kafkascope_parsers.framing.layout import FRAME
from kafkascope_parsers.machine import decode_messages
from kafkascope_parsers.schema import message_type

CAPTURES = Path(__file__).parents[3] / "fixtures" / "captures"


def metadata(*responses: tuple[int, int, str | None]) -> Messages:
    """Metadata responses of version 2, with their headers: connection, time and cluster id of each."""
    ids = [b"\xff\xff" if text is None else struct.pack(">h", len(text)) + text.encode() for _, _, text in responses]
    raws = [struct.pack(">ii", 0, 0) + text + struct.pack(">ii", -1, 0) for text in ids]
    ends = np.cumsum([len(raw) for raw in raws]).astype(np.int64)
    buf = np.frombuffer(bytearray(b"".join(raws)), np.uint8)
    versions = np.full(len(raws), 2, np.int16)
    (columns,) = decode_messages(message_type(3, "response"), buf, np.append(0, ends[:-1]), ends, versions)
    assert not columns.failures
    frames = np.zeros(len(raws), FRAME)
    frames["direction"] = [2 * conn + 1 for conn, _, _ in responses]
    frames["ts_ns"] = [ts_ns for _, ts_ns, _ in responses]
    return Messages(columns, np.arange(len(raws)), frames, np.zeros(len(raws), np.int64))


def test_an_id_is_noted_when_it_is_named_first_or_after_another_one() -> None:
    ids = ClusterIds()
    ids.open_connections(3)
    ids.note(metadata((0, 1, "a"), (1, 2, "b"), (0, 3, "a"), (2, 4, None), (0, 5, "")))
    ids.note(metadata((0, 6, "a"), (1, 7, "a"), (1, 8, "b")))
    found = [(row["conn"], row["cluster_id"], row["ts_ns"]) for row in ids.take().to_pylist()]
    assert found == [(0, "a", 1), (1, "b", 2), (1, "a", 7)]
    assert ids.take().num_rows == 0
    assert ids.numbers_of(np.array([0, 1, 2, 0])).tolist() == [0, 1, NO_ID, 0]


def test_a_text_that_is_too_long_is_no_id() -> None:
    ids = ClusterIds()
    ids.open_connections(1)
    ids.note(metadata((0, 1, "a" * (MOST_ID_BYTES + 1)), (0, 2, "b" * MOST_ID_BYTES)))
    assert [row["cluster_id"] for row in ids.take().to_pylist()] == ["b" * MOST_ID_BYTES]


def test_brokers_name_it_to_each_other(ingested: Callable[..., Path]) -> None:
    """No client asked for Metadata while this was captured: what names the cluster are Fetch requests of KRaft."""
    truth = json.loads((CAPTURES / "mid_stream-any.truth.json").read_text())
    (row,) = pq.read_table(ingested(CAPTURES / "mid_stream-any.pcap.zst") / "clusters").to_pylist()
    assert (row["cluster_id"], row["known_by"]) == (truth["cluster"]["cluster_id"], "cluster_id")
    assert {f"{each['host']}:{each['port']}" for each in truth["cluster"]["brokers"]} <= set(row["servers"])
