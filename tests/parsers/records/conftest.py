"""The record sets that Kafka's own classes wrote, with what they read in them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).resolve().parents[3] / "fixtures" / "vectors" / "record_sets.jsonl.gz"


@pytest.fixture(scope="session")
def vectors() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


@pytest.fixture(scope="session")
def slow_headers(load_module):  # type: ignore[no-untyped-def]
    """The slow twin of the kernel that reads headers."""
    return load_module(Path(__file__).with_name("slow_headers.py"))
