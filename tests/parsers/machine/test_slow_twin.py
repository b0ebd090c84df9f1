"""The kernel and its slow twin, which reads the definitions without compiling them: same values, same failures, on
damaged frames."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkascope_parsers.machine import Columns, DecodeOptions, decode_messages, to_rows
from kafkascope_parsers.schema import MessageType, message_type
from kafkascope_parsers.schema.by_definition import MessageError, decode_by_definition

EDGE_BYTES = st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF])
DAMAGE = st.tuples(
    st.sampled_from(["set", "set", "set", "cut", "insert", "remove"]),
    st.floats(0, 1, exclude_max=True),
    st.one_of(EDGE_BYTES, st.integers(0, 255)),
)


def damaged(raw: bytes, damages: list[tuple[str, float, int]]) -> bytes:
    out = bytearray(raw)
    for kind, where, byte in damages:
        at = int(where * max(len(out), 1))
        if kind == "set" and out:
            out[at] = byte
        elif kind == "cut":
            del out[at:]
        elif kind == "insert":
            out[at:at] = bytes([byte]) * (1 + byte % 6)
        elif kind == "remove":
            del out[at : at + 1 + byte % 3]
    return bytes(out)


def plain(value: Any) -> Any:
    """Without the fields that are None, and with floats as text, so that NaN equals itself."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return repr(value) if isinstance(value, float) else value


def by_machine(message: MessageType, raws: list[bytes], versions: list[int]) -> dict[int, Any]:
    buf = np.frombuffer(bytearray(b"\x01".join(raws)), np.uint8)
    lengths = np.array([len(r) for r in raws], np.int64)
    ends = np.cumsum(lengths + 1) - 1
    out: dict[int, Any] = {}
    columns: Columns
    options = DecodeOptions(batch_bytes=5000)
    for columns in decode_messages(message, buf, ends - lengths, ends, np.array(versions, np.int16), options):
        out |= {f: plain(row) for f, row in zip(columns.frame.tolist(), to_rows(columns), strict=True)}
        out |= {f.frame: (f.kind, f.offset, f.path) for f in columns.failures}
    return out


def by_twin(message: MessageType, raw: bytes, version: int) -> Any:
    try:
        return plain(decode_by_definition(message, raw, version))
    except MessageError as e:
        return (e.kind, e.offset, e.path)


def agree(message: MessageType, raws: list[bytes], versions: list[int]) -> dict[int, Any]:
    """What both say of each frame."""
    got = by_machine(message, raws, versions)
    assert sorted(got) == list(range(len(raws)))
    for i, (raw, version) in enumerate(zip(raws, versions, strict=True)):
        assert got[i] == by_twin(message, raw, version), (message.name, version, raw.hex())
    return got


@pytest.fixture(scope="session")
def groups(frames) -> list[tuple[MessageType, list[tuple[int, bytes]]]]:
    """Frames per message; ApiVersions responses, whose failures turn into another version, are not among them."""
    found = defaultdict(list)
    for v in frames:
        found[v["api_key"], v["direction"]].append((v["version"], bytes.fromhex(v["frame_hex"])[4:]))
    out = [(message_type(*key), vectors) for key, vectors in found.items()]
    return [(m, vectors) for m, vectors in out if m is not None and m.fallback_version is None]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_frames_of_mixed_versions_read_alike(groups, data):
    message, vectors = data.draw(st.sampled_from(groups))
    chosen = data.draw(
        st.lists(st.tuples(st.sampled_from(vectors), st.lists(DAMAGE, max_size=3)), min_size=1, max_size=6)
    )
    raws = [damaged(raw, damages) for (_, raw), damages in chosen]
    agree(message, raws, [version for (version, _), _ in chosen])


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), raw=st.binary(max_size=80))
def test_random_bytes_read_alike(groups, data, raw):
    message, _ = data.draw(st.sampled_from(groups))
    agree(message, [raw], [data.draw(st.integers(message.versions[0] - 1, message.versions[1] + 1))])


def test_every_kind_of_failure_is_met_and_alike(groups):
    """A walk over every frame of a few messages with one byte changed, which meets the rarer failures too."""
    kinds = set()
    for message, vectors in groups:
        if message.name not in ("FetchResponse", "ApiVersionsRequest", "ProduceResponse", "FetchRequest"):
            continue
        for version, raw in vectors[-1:]:
            raws = [raw[:i] + bytes([b]) + raw[i + 1 :] for i in range(min(len(raw), 400)) for b in (0, 1, 0x80, 0xFF)]
            said = agree(message, raws, [version] * len(raws))
            kinds |= {v[0] for v in said.values() if isinstance(v, tuple)}
    assert {"truncated", "length_beyond_end", "duplicate_tag", "tag_size_mismatch", "trailing_bytes"} <= kinds


WITHOUT_COMPILATION = """
import json, sys
import numpy as np
from kafkascope_parsers.machine import decode_messages, to_arrow, to_rows
from kafkascope_parsers.schema import message_type
out = []
for key, direction, version, text in json.load(sys.stdin):
    raw = bytes.fromhex(text)
    message = message_type(key, direction)
    span = np.array([0]), np.array([len(raw)]), np.array([version], np.int16)
    (columns,) = decode_messages(message, np.frombuffer(bytearray(raw), np.uint8), *span)
    to_arrow(columns).validate(full=True)
    out.append(repr(to_rows(columns)) + repr(columns.failures))
print(json.dumps(out))
"""


@pytest.mark.slow
def test_kernels_do_the_same_without_compilation(frames):
    sample = [(v["api_key"], v["direction"], v["version"], v["frame_hex"][8:]) for v in frames[::60]]
    sample += [(*rest, text[: len(text) // 4 * 2]) for *rest, text in sample]
    answers = []
    for disabled in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", WITHOUT_COMPILATION],
            input=json.dumps(sample),
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(json.loads(run.stdout))
    assert len(answers[0]) == len(sample)
    assert answers[0] == answers[1]
