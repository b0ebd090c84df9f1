"""The layer of record sets: batch headers by the kernels, one set in four opened."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from runpy import run_path

import numpy as np
from benchmarks.farm.layer import FaultError, shorter
from benchmarks.farm.messages import joined
from benchmarks.farm.mutations import mutated
from benchmarks.farm.vectors import ROOT, record_sets

from kafkascope_parsers.records import open_record_set, read_batches

TWIN = ROOT / "tests" / "parsers" / "records" / "slow_headers.py"
ROUND_SETS = 250
TWIN_EVERY = 200
OPEN_EVERY = 4
INFLATE_LIMIT = 4 << 20


class RecordSetRounds:
    """A round: record sets of Kafka's own writer, mutated."""

    def __init__(self, folder: Path) -> None:
        self._raws = record_sets()
        self._twin = run_path(str(TWIN))["list_batches"]

    def warm_up(self) -> None:
        self.run(self._raws, random.Random(0))
        for raw in self._raws:
            open_record_set(raw, INFLATE_LIMIT)

    def make(self, r: random.Random) -> Sequence[bytes]:
        return [mutated(r, raw) for raw in r.choices(self._raws, k=ROUND_SETS)]

    def run(self, inputs: Sequence[bytes], r: random.Random) -> None:
        buf, starts, ends = joined(inputs)
        rows = read_batches(buf, starts, (ends - starts).astype(np.int32))
        for i in range(0, len(inputs), TWIN_EVERY):
            mine = rows[rows["record_set"] == i]
            want = [(b.position + int(starts[i]), b.size, b.crc_valid) for b in self._twin(inputs[i])]
            if [(int(b["position"]), int(b["size"]), bool(b["crc_valid"])) for b in mine] != want:
                raise FaultError(f"the twin reads other batches: {inputs[i].hex()}")
        for raw in inputs[::OPEN_EVERY]:
            open_record_set(raw, INFLATE_LIMIT)

    def smaller(self, one: bytes) -> Iterator[bytes]:
        return shorter(one)

    def write(self, inputs: Sequence[bytes], stem: Path) -> None:
        stem.with_suffix(".txt").write_text("".join(f"{raw.hex()}\n" for raw in inputs), encoding="ascii")

    def close(self) -> None:
        """Nothing was started."""
