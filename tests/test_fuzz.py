"""A short run of benchmarks/fuzz.py, and that it notices what it is there for.

Here it reads fewer messages with the kernels as they are; `make checked` runs it whole, where kernels that check every
index are compiled anyway, and `make fuzz` a million times.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "benchmarks" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz(load_module):
    return load_module(SCRIPT)


@pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="make checked: it compiles kernels of its own")
def test_mutated_messages_end_as_rows_or_failures():
    command = [sys.executable, SCRIPT, "--n", "12000", "--seed", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["mutated"] >= 12000
    assert result["growth_bytes"] < 64 << 20


@pytest.mark.parametrize("kind", ["Frames", "RecordSets", "Conversations"])
def test_some_mutated_messages_end_as_rows_or_failures_here(fuzz, kind):
    rounds = getattr(fuzz, kind)()
    assert sum(rounds.round(random.Random(f"1 {number}")) for number in range(4)) > 100


def test_the_same_seed_mutates_the_same_way(fuzz):
    raw = bytes(range(200))
    first, again = ([fuzz.mutated(random.Random(f"1 {i}"), raw) for i in range(300)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 250


def test_every_mutation_changes_something(fuzz):
    raw = bytes(range(100, 200))
    for mutation in fuzz.MUTATIONS:
        changed = set()
        for i in range(20):
            out = bytearray(raw)
            mutation(random.Random(i), out)
            changed.add(bytes(out))
        assert changed - {raw}, mutation


def test_a_frame_that_is_lost_is_noticed(fuzz, monkeypatch):
    frames = fuzz.Frames()
    monkeypatch.setattr(frames, "decode", lambda message, raws, versions: dict.fromkeys(range(len(raws) - 1), "row"))
    with pytest.raises(AssertionError, match="neither a row nor a failure"):
        frames.round(random.Random(3))


def test_the_child_wants_bounds_checked():
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_BOUNDSCHECK"}
    command = [sys.executable, SCRIPT, "--child", "--n", "1"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "NUMBA_BOUNDSCHECK" in run.stderr
