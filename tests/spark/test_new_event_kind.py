"""A kind of events that this module adds, by its class and its source: its rows are in the table `events` after ingest,
in the schema and in the reference page, and come out of the decoder as objects of the class."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "fixtures" / "service" / "share_member.pcap.zst"

KIND = """
from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.row_types import I32
from kafkascope_analyzer.dataset.tables.connections import CONNECTIONS
from kafkascope_analyzer.dataset.tables.event_kinds.event import ClientEvent, event_kind


@event_kind("busy_connection", "a connection with ten requests or more", key_kind="client")
@dataclass(slots=True)
class BusyConnection(ClientEvent):
    server_ip: Annotated[str, CONNECTIONS]
    n_requests: Annotated[int, CONNECTIONS]
    tens: Annotated[int, I32, "how many times ten"]
    client_ids: Annotated[tuple[str, ...], CONNECTIONS]
"""
SOURCE = """
import pyarrow.compute as pc

from busy_connection import BusyConnection
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, event_table


class BusyConnections(EventSource):
    KINDS = (BusyConnection,)

    def __init__(self, context):
        pass

    def finish(self, connections, read_messages):
        busy = connections.filter(pc.greater_equal(connections["n_requests"], 10))
        place = client_place(busy["client_ip"], busy["conn_id"], busy["last_ns"])
        body = {name: busy[name] for name in ("server_ip", "n_requests", "client_ids")}
        yield event_table(BusyConnection, place, body | {"tens": pc.divide(busy["n_requests"], 10)})
"""
PROGRAM = """
import json, sys
import kafkascope_analyzer.dataset.event_kinds as listed

listed.EVENT_MODULES += ("busy_connection",)

import kafkascope_analyzer.resolve.bucket_events as bucket_events
from busy_connections import BusyConnection, BusyConnections

bucket_events.SOURCES += (BusyConnections,)

import pyarrow as pa
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import EVENTS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_spark.event_reader import event_reader, splits_of
from kafkascope_spark.stories.event_decoder import event_rows
from reference.tables import tables_page

ingest([sys.argv[1]], sys.argv[2], IngestOptions(jobs=1))
dataset = Dataset.open(sys.argv[2])
numbers = pa.RecordBatch.from_pydict({"id": list(range(len(splits_of(dataset))))})
batches = event_reader(dataset, splits_of(dataset))([numbers])
events = [event for batch in batches for _, event in event_rows(batch) if type(event) is BusyConnection]
found = [[e.conn_id, e.ts_ns, e.server_ip, e.n_requests, e.tens, list(e.client_ids)] for e in events]
page = tables_page().partition("## events")[2].partition("\\n## ")[0]
print(json.dumps([sorted(found), str(EVENTS.schema.field("busy_connection").type), page]))
"""
EXPECTED = """
select conn_id, last_ns, server_ip, n_requests, n_requests // 10, client_ids
from read_parquet('{dataset}/connections/**/*.parquet') where n_requests >= 10 order by all
"""
ROWS = """
select conn_id, ts_ns, busy_connection.server_ip, busy_connection.n_requests, busy_connection.tens,
    busy_connection.client_ids
from read_parquet('{dataset}/events/*/kind=busy_connection/*.parquet')
where kind = 'busy_connection' and key = client_ip order by all
"""


@pytest.mark.slow
def test_a_kind_is_its_class_and_its_source(tmp_path: Path) -> None:
    (tmp_path / "busy_connection.py").write_text(KIND, encoding="utf-8")
    (tmp_path / "busy_connections.py").write_text(SOURCE, encoding="utf-8")
    places = [*(str(ROOT / name) for name in ("parsers", "analyzer", "spark", "scripts")), str(tmp_path)]
    dataset = tmp_path / "a.kscope"
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(CAPTURE), str(dataset)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )
    assert ran.returncode == 0, ran.stderr
    objects, struct, page = json.loads(ran.stdout.splitlines()[-1])
    expected = [list(row) for row in duckdb.sql(EXPECTED.format(dataset=dataset)).fetchall()]
    assert len(expected) > 1
    assert [list(row) for row in duckdb.sql(ROWS.format(dataset=dataset)).fetchall()] == expected
    assert objects == expected
    assert struct == "struct<server_ip: string, n_requests: int64, tens: int32, client_ids: list<item: string>>"
    assert "| `busy_connection` | struct | a connection with ten requests or more |" in page
    assert "  - `tens` int32: how many times ten" in page
    assert "  - `server_ip` string: address of the server" in page
