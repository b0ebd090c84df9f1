"""The byte ledger in full, of a capture that the snap length cut; tshark's count of packets it cut is the oracle."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.limits_hit import MEANINGS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.report.model.data_quality import limit_sentence
from kafkascope_analyzer.report.model.ledger import full_ledger
from kafkascope_analyzer.report.model.traffic import report_tables
from kafkascope_analyzer.report.terminal.ledger import render_ledger
from kafkascope_analyzer.report.terminal.page import page_of

needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "mid_stream-snap96.pcap.zst"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "snap96.pcap"
    path.write_bytes(zstandard.ZstdDecompressor().stream_reader(CAPTURE.open("rb")).read())
    return path


@pytest.fixture(scope="module")
def dataset(plain, tmp_path_factory):
    place = tmp_path_factory.mktemp("ledger") / "out.kscope"
    ingest([plain], place, IngestOptions(jobs=1))
    return place


def ledger_of(place):
    with report_tables(Dataset.open(place)) as database:
        return full_ledger(database)


def tshark(plain, only, field):
    command = ["tshark", "-r", plain, "-Y", only, "-T", "fields", "-e", field]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.slow
@needs_tshark
def test_every_byte_has_a_reason_and_every_packet_a_kind(dataset, plain):
    ledger = ledger_of(dataset)
    totals = ledger.totals
    assert totals["stream_bytes"] == totals["decoded_bytes"] + totals["undecoded_bytes"]
    assert totals["undecoded_bytes"] == sum(row.bytes for row in ledger.reasons)
    (file,) = ledger.files
    assert file.n_packets == len(tshark(plain, "frame", "frame.number"))
    assert file.n_truncated == len(tshark(plain, "frame.len > frame.cap_len", "frame.number"))


@pytest.mark.slow
@needs_tshark
def test_the_example_of_a_reason_can_be_looked_up(dataset, plain):
    ledger = ledger_of(dataset)
    assert ledger.reasons
    for row in ledger.reasons:
        example = row.example
        (port,) = tshark(plain, f"frame.number=={example.packet_no}", "tcp.srcport")
        sender = example.client if example.direction == "request" else example.server
        assert sender.endswith(f":{port}"), row


def test_the_page_names_all_of_it(dataset):
    ledger = ledger_of(dataset)
    ledger = replace(ledger, limits_hit={"waiting_requests": 7})
    page = page_of(render_ledger(ledger), 80, ascii_only=True)
    for row in ledger.reasons:
        assert row.reason in page
    assert f"{ledger.totals['stream_bytes']:,}" in page
    assert "7 requests given up" in page
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize("name", MEANINGS)
def test_every_limit_has_a_sentence(name):
    assert limit_sentence(name, 2).startswith("2 ")
