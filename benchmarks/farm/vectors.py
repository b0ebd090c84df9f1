"""Messages and record sets that Kafka's own classes wrote (fixtures/vectors)."""

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
VECTORS = FIXTURES / "vectors"


@dataclass(frozen=True, slots=True)
class Vector:
    """A frame, without its size."""

    api_key: int
    direction: str
    version: int
    raw: bytes


def load(name: str) -> list[dict[str, Any]]:
    with gzip.open(VECTORS / name, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


@cache
def frames() -> tuple[Vector, ...]:
    """Every API, version and direction."""
    lines = [*load("frames.jsonl.gz"), *load("former_layout.jsonl.gz")]
    return tuple(Vector(v["api_key"], v["direction"], v["version"], bytes.fromhex(v["frame_hex"])[4:]) for v in lines)


@cache
def record_sets() -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(v["records_hex"]) for v in load("record_sets.jsonl.gz"))


@cache
def assignments() -> tuple[bytes, ...]:
    """Metadata and assignments of groups: what JoinGroup and SyncGroup carry."""
    return tuple(bytes.fromhex(v["hex"]) for v in load("assignments.jsonl.gz"))


@cache
def exchanges() -> dict[int, tuple[tuple[Vector, ...], tuple[Vector, ...]]]:
    """By API key that has both: its requests and responses, of at most 4,000 bytes."""
    by_key: dict[int, tuple[list[Vector], list[Vector]]] = {}
    for vector in frames():
        if len(vector.raw) < 4000:
            by_key.setdefault(vector.api_key, ([], []))[vector.direction == "response"].append(vector)
    return {key: (tuple(a), tuple(b)) for key, (a, b) in sorted(by_key.items()) if a and b}
