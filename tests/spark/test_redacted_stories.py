"""Stories of a redacted dataset are those of the dataset itself, about pseudonyms."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.new_dataset import NewDataset
from kafkascope_analyzer.redact.redaction import pseudonyms_for, redact

pytestmark = pytest.mark.spark

COUNTED = {
    "clients": ("kind", "library"),
    "incidents": ("kind", "state"),
    "recoveries": ("outcome", "first_error_name"),
    "rebalances": ("cause",),
    "startups": ("outcome",),
    "stalls": ("kind", "claimed"),
    "transactions": ("outcome",),
}
"""Story tables with columns that have no names: those that are there are compared."""


@pytest.mark.parametrize("name", ["member_evicted", "paused_clients", "shared_vip", "tls_paused"])
def test_stories_are_the_same(dataset_of: Callable[..., Path], tmp_path: Path, name: str) -> None:
    source = Dataset.open(dataset_of(name))
    place = tmp_path / "shown.kscope"
    pseudonyms = pseudonyms_for(source, bytes(range(32)))
    with NewDataset(type(source.storage).of(str(place))) as new:
        new.commit(redact(source, new, pseudonyms))
    write_stories_in_process(place)
    shown = Dataset.open(place)
    compared = 0
    for table, columns in COUNTED.items():
        stored = f"stories/{table}"
        if stored not in source.manifest.files:
            continue
        counts = []
        for dataset in (source, shown):
            rows = dataset.read(stored, None).to_pylist()
            counts.append(Counter(tuple(str(row.get(column)) for column in columns) for row in rows))
            compared += len(rows)
        assert counts[0] == counts[1], table
    assert compared > (2 if name == "tls_paused" else 10)
    clients = [
        dataset.read("stories/clients", ["client_ip", "client_id", "n_requests"]).to_pylist()
        for dataset in (source, shown)
    ]
    renamed = Counter(
        (pseudonyms.of(row["client_ip"]), row["client_id"] and pseudonyms.of(row["client_id"])) for row in clients[0]
    )
    assert renamed == Counter((row["client_ip"], row["client_id"]) for row in clients[1])
