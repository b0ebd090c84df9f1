"""How long batches of producers waited, against captures whose truth is known."""

from pathlib import Path

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"


def test_a_mirror_that_catches_up_waits_for_nothing(ingested):
    """Its records keep their own times, 20 seconds of them a second; each is accepted within 2 ms."""
    dataset = ingested(PIECES / "mirror_catch_up.pcap.zst")
    events = Dataset.open(dataset).read("events", filter=pc.field("kind") == "produce_wait")
    assert events.num_rows == 0


def test_the_times_of_a_mirror_give_no_latencies(ingested):
    dataset = ingested(PIECES / "mirror_catch_up.pcap.zst")
    events = Dataset.open(dataset).read("events")
    flow = events.filter(pc.equal(events["kind"], "produce_slice"))["produce_slice"].to_pylist()
    assert sum(each["n_records"] for each in flow) == 60
    assert not any(each["latencies"] for each in flow)
