"""The golden vectors, and a short way to run frames through the machine."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafkascope_parsers.machine import Columns, DecodeOptions, decode_messages
from kafkascope_parsers.schema import MessageType

VECTORS = Path(__file__).resolve().parents[3] / "fixtures" / "vectors"
Decode = Callable[..., list[Columns]]


def load(name: str) -> list[dict[str, Any]]:
    with gzip.open(VECTORS / name, "rt", encoding="utf-8", errors="surrogatepass") as f:
        return [json.loads(line) for line in f]


@pytest.fixture(scope="session")
def frames() -> list[dict[str, Any]]:
    return load("frames.jsonl.gz")


@pytest.fixture(scope="session")
def loose() -> list[dict[str, Any]]:
    return load("loose.jsonl.gz")


def batches(message: MessageType, raws: list[bytes], versions: list[int], **limits: int) -> Iterator[Columns]:
    # Bytes of other frames around each: a reader that looked past its frame would find something there.
    buf = np.frombuffer(bytearray(b"\x01" + b"\x01".join(raws) + b"\x01"), np.uint8)
    lengths = np.array([len(r) for r in raws], np.int64)
    ends = np.cumsum(lengths + 1)
    return decode_messages(message, buf, ends - lengths, ends, np.array(versions, np.int16), DecodeOptions(**limits))


@pytest.fixture(scope="session")
def decode() -> Decode:
    """decode(message, [frame bytes], [versions], batch_bytes=...) -> batches."""

    def run(message: MessageType | None, raws: list[bytes], versions: list[int], **limits: int) -> list[Columns]:
        assert message is not None
        return list(batches(message, raws, versions, **limits))

    return run
