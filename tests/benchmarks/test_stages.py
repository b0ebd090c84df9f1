"""What ingest costs: each module belongs to a stage, time that nobody interrupted is counted where it was spent."""

import pkgutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.stages import OTHER, STAGES, ColumnBytes, Measured, Profile, Run, page, stage_of

import kafkascope_analyzer
import kafkascope_parsers
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest

CAPTURE = Path(__file__).resolve().parents[2] / "fixtures/captures/healthy_basic.pcap.zst"
OF_INGEST = {"connections", "dataset", "read", "resolve", "scan"}


def modules_of_ingest() -> list[str]:
    parsers = [m.name for m in pkgutil.walk_packages(kafkascope_parsers.__path__, "kafkascope_parsers.")]
    analyzer = [m.name for m in pkgutil.walk_packages(kafkascope_analyzer.__path__, "kafkascope_analyzer.")]
    return [*parsers, *(name for name in analyzer if name.split(".")[1] in OF_INGEST)]


def test_each_module_of_ingest_belongs_to_a_stage() -> None:
    assert [name for name in modules_of_ingest() if stage_of(name) is None] == []
    assert stage_of("kafkascope_parsers.link.reader") == "link layer and flows"
    assert stage_of("kafkascope_parsers.linkage") == "decoding"
    assert stage_of("json") is None
    assert len({stage.name for stage in STAGES}) == len(STAGES)


def test_time_inside_a_long_call_is_counted_though_nothing_interrupts_it() -> None:
    """numpy is not interrupted: the call is one tick, of all its time; outside of kafkascope it is of no stage."""
    numbers = np.arange(4_000_000)[::-1]
    with Profile() as profile:
        for _ in range(5):
            np.sort(numbers.copy(), kind="stable")
    assert set(profile.stages) == {OTHER}
    assert profile.stages[OTHER] > 0


@pytest.mark.slow
def test_the_time_of_writing_belongs_to_tables_of_the_dataset(tmp_path: Path) -> None:
    """Those of messages too, which lie in a folder for each API and direction."""
    ingest([CAPTURE], tmp_path / "out.kscope", IngestOptions(jobs=1))
    with Profile() as profile:
        ingest([CAPTURE], tmp_path / "again.kscope", IngestOptions(jobs=1))
    written = profile.tables.keys() - {"(other)"}
    assert written <= Dataset.open(str(tmp_path / "again.kscope")).manifest.files.keys()
    assert any(table.startswith("messages/") for table in written)


def run(n_packets: int, parquet_s: float, times: int = 1) -> Run:
    """Half a second of decoding for a million packets, and Parquet."""
    decoding_s = n_packets / 2e6 * times
    profile = Profile(Counter({"decoding": decoding_s, "Parquet": parquet_s}), tables=Counter({"requests": 1.0}))
    return Run(n_packets * 4000, n_packets, decoding_s + parquet_s, profile, times)


COLUMNS = [ColumnBytes("requests", "ts_ns", 500, 4000), ColumnBytes("requests", "api_key", 500, 1000)]


def test_the_page_has_costs_a_packet() -> None:
    lines = list(page([Measured("small", run(1_000_000, 1.5), None, COLUMNS)]))
    assert "| decoding | 200 | 500 |" in lines
    assert "| Parquet | 200 | 1,500 |" in lines
    assert "| **all** | 1000 | 2,000 |" in lines
    assert "| million packets a second and core | 1.00 | 0.50 |" in lines
    assert "| GB a second and core |  | 2.00 |" in lines
    assert "| `requests` | 500 | 0.001 | 5,000 | 0.01 | 1,000.0 |" in lines
    assert "| `requests.ts_ns` | 8.00 | 0.00 |" in lines
    assert not any("does not grow" in line for line in lines)


def test_two_sizes_tell_the_cost_of_a_packet_from_what_does_not_grow() -> None:
    """Parquet takes 100 ms for any capture and 1,400 ns a packet; the smaller capture was ingested twice."""
    smaller = run(250_000, 2 * (0.1 + 0.35), times=2)
    lines = list(page([Measured("small", run(1_000_000, 1.5), smaller, COLUMNS)]))
    assert "| decoding | 200 | 500 |" in lines
    assert "| Parquet | 200 | 1,400 |" in lines
    assert "| **all** | 1000 | 1,900 |" in lines
    assert "| Parquet | 100 |" in lines
    assert "| **all** | 100 |" in lines
