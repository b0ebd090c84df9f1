"""kafkascope decode: frames and record sets as hex and as JSON lines, against Kafka's own classes; what is wrong is
said."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_parsers.schema.secrets import APIS_WITH_SECRETS

VECTORS = Path(__file__).resolve().parents[3] / "fixtures" / "vectors"
METADATA_V1 = "00000012" + "0003" + "0001" + "00000007" + "0002" + "6d65" + "00000001" + "0000"


def run(*args: str, stdin: str | None = None):
    return CliRunner().invoke(app, ["decode", *args], input=stdin)


def answers(*args: str) -> list[dict]:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def vectors(name: str) -> list[dict]:
    with gzip.open(VECTORS / name, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def folded(value):
    """Without what is null, and without case and underscores in names."""
    if isinstance(value, dict):
        return {k.replace("_", "").lower(): folded(v) for k, v in value.items() if v is not None}
    return [folded(v) for v in value] if isinstance(value, list) else value


def write(path: Path, lines: list[dict | str]) -> str:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


@pytest.mark.parametrize("name", ["frames.jsonl.gz", "former_layout.jsonl.gz"])
def test_files_of_frames(name):
    got, want = answers("--jsonl", str(VECTORS / name)), vectors(name)
    assert len(got) == len(want)
    for answer, v in zip(got, want, strict=True):
        assert folded(answer) == folded({"header": v["header_json"], "body": v["body_json"]}), v["api_name"]


def test_secrets_are_printed_as_their_length(tmp_path):
    secret = b"\0alice\0wonderland"
    frame = (b"\0\x24\0\1\0\0\0\1\xff\xff" + len(secret).to_bytes(4, "big") + secret).hex()
    asked = write(tmp_path / "asked.jsonl", [{"direction": "request", "frame_hex": f"{len(frame) // 2:08x}{frame}"}])
    for shown in (answers("--jsonl", asked)[0], json.loads(run("--hex", frame).stdout)):
        assert shown["body"] == {"auth_bytes_length": len(secret)}


def test_files_of_loose_messages():
    name = "loose.jsonl.gz"
    for answer, v in zip(answers("--jsonl", str(VECTORS / name)), vectors(name), strict=True):
        assert folded(answer["body"]) == folded(v["json"])


def test_files_of_record_sets():
    name = "record_sets.jsonl.gz"
    got, want = answers("--jsonl", "--records", str(VECTORS / name)), vectors(name)
    for answer, v in zip(got, want, strict=True):
        assert folded(answer) == folded({k: v[k] for k in answer})
        assert "batches" in answer


def test_several_files_plain_and_gzip_answer_in_order(tmp_path):
    frames = vectors("frames.jsonl.gz")[::200]
    frames = [v for v in frames if v["api_name"] not in APIS_WITH_SECRETS]
    ours = [{k: v[k] for k in ("direction", "api_key", "version", "frame_hex")} for v in frames]
    for line in ours:
        if line["direction"] == "request":  # a request says its own
            del line["api_key"], line["version"]
    files = write(tmp_path / "a.jsonl", ours[:3]), write(tmp_path / "b.gz", ours[3:])
    got = answers("--jsonl", *files)
    assert [folded(a["body"]) for a in got] == [folded(v["body_json"]) for v in frames]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("not json", "bad_line"),
        ("[]", "bad_line"),
        ("{}", "bad_line"),
        ({"frame_hex": "zz", "direction": "request"}, "bad_line"),
        ({"frame_hex": "00000001", "direction": "request"}, "bad_line"),
        ({"frame_hex": "0000000400000000", "direction": "request"}, "bad_line"),
        ({"frame_hex": METADATA_V1, "direction": "sideways"}, "bad_line"),
        ({"frame_hex": METADATA_V1, "direction": "response"}, "bad_line"),
        ({"frame_hex": "0000000400000000", "direction": "response", "api_key": 999, "version": 0}, "unknown_api"),
        ({"frame_hex": "0000000400000000", "direction": "response", "api_key": 0, "version": 99}, "unknown_version"),
        ({"frame_hex": "0000000400000000", "direction": "response", "api_key": 12, "version": 0}, "truncated"),
        ({"frame_hex": "000000080000000000000000", "direction": "response", "api_key": 12, "version": 0},
         "trailing_bytes"),
    ],
)  # fmt: skip
def test_a_line_that_does_not_decode_is_an_error_and_the_next_is_decoded(line, kind, tmp_path):
    good = {"frame_hex": METADATA_V1, "direction": "request"}
    bad, next_one = answers("--jsonl", write(tmp_path / "x.jsonl", [line, good]))
    assert bad["error"]["kind"] == kind
    assert bad["error"]["message"]
    if kind in ("truncated", "trailing_bytes"):
        assert {"api": "HeartbeatResponse", "version": 0}.items() <= bad["error"].items()
        assert {"offset", "path"} <= bad["error"].keys()
    assert next_one["body"]["topics"][0]["name"] == ""


@pytest.mark.parametrize("line", ["not json", "[]", "{}", '{"records_hex": 5}', '{"records_hex": "0"}'])
def test_a_line_that_is_no_record_set(line, tmp_path):
    (answer,) = answers("--jsonl", "--records", write(tmp_path / "x.jsonl", [line]))
    assert answer["error"]["kind"] == "bad_line"


@pytest.mark.parametrize(
    "text",
    [METADATA_V1, METADATA_V1[8:], "0x" + METADATA_V1.upper(), bytes.fromhex(METADATA_V1).hex(":")],
    ids=["whole", "no size", "0x", "colons"],
)
def test_one_request(text):
    result = run("--hex", text)
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["header"]["client_id"] == "me"
    assert answer["header"]["correlation_id"] == 7
    assert answer["body"]["topics"][0]["name"] == ""


def test_one_request_from_standard_input():
    assert json.loads(run("--hex", "-", stdin=METADATA_V1 + "\n").stdout)["header"]["correlation_id"] == 7


@pytest.mark.parametrize("api", ["Heartbeat", "heartbeat", "12"])
def test_one_response(api):
    result = run("--hex", "00000006 00000005 001b", "--response", "--api", api, "--version", "0")
    assert json.loads(result.stdout) == {
        "header": {"correlation_id": 5},
        "body": {"throttle_time_ms": None, "error_code": 27},
    }


def test_one_record_set():
    v = next(v for v in vectors("record_sets.jsonl.gz") if v["batches"] and v["batches"][0]["codec"] == "zstd")
    answer = json.loads(run("--records", "--hex", v["records_hex"]).stdout)
    assert folded(answer["batches"]) == folded(v["batches"])


def test_a_frame_that_does_not_decode_says_where_on_both_outputs():
    result = run("--hex", METADATA_V1[8:-4])
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["path"] == "topics"
    assert "MetadataRequest v1" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--jsonl"],
        ["file"],
        ["--hex", "zz"],
        ["--hex", "0"],
        ["--hex", "00", "--jsonl", "file"],
        ["--hex", "00", "file"],
        ["--hex", "00", "--api", "Fetch"],
        ["--hex", "00", "--response"],
        ["--hex", "00", "--response", "--api", "Fetch"],
        ["--hex", "00", "--response", "--api", "Fetsch", "--version", "1"],
        ["--hex", "00", "--response", "--records"],
    ],
    ids=" ".join,
)
def test_wrong_usage_says_what_to_do(args):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip()) > 10


@pytest.mark.parametrize("damage", ["missing", "directory", "cut gzip"])
def test_files_that_cannot_be_read(damage, tmp_path):
    path = tmp_path / "x.gz"
    if damage == "directory":
        path.mkdir()
    elif damage == "cut gzip":
        path.write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    result = run("--jsonl", str(path))
    assert result.exit_code == 3
    assert "x.gz" in result.stderr
