"""Captures in a store and behind a URL are read as files on this machine are; what fails is one sentence."""

import http.server
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkascope_analyzer.read import http_file
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.key_logs import key_log_places, read_key_logs
from kafkascope_analyzer.read.place import LocalCapture, place_of
from kafkascope_analyzer.read.source import CaptureFile, iter_blocks
from kafkascope_parsers.errors import CaptureError, UsageError

CAPTURE = Path(__file__).parents[3] / "fixtures" / "captures" / "mid_stream-any.pcap.zst"


def pcap(n: int) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", i, 0, 60, 60) + bytes(60) for i in range(n))


class Web(http.server.BaseHTTPRequestHandler):
    """Serves `files`. has_ranges: whether it answers requests of ranges with ranges."""

    files: dict[str, bytes] = {}
    has_ranges = True
    asked: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        path, range_ = self.path.partition("?")[0], self.headers.get("Range")
        self.asked.append((self.path, range_))
        data = self.files.get(path)
        if data is None:
            self.send_error(403 if path == "/secret.pcap" else 404)
            return
        tag = f'"{hash(data)}"'
        if self.headers.get("If-Match", tag) != tag:
            self.send_error(412)
            return
        if range_ and self.has_ranges:
            first, last = (int(one) for one in range_.removeprefix("bytes=").split("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{min(last, len(data) - 1)}/{len(data)}")
            data = data[first : last + 1]
        else:
            self.send_response(200)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def web() -> Iterator[Callable[..., str]]:
    """Serves files by their names, with ranges or without; gives the URL before a file's name."""
    servers = []

    def serve(files: dict[str, bytes], *, has_ranges: bool = True) -> str:
        handler = type("Files", (Web,), {"files": files, "has_ranges": has_ranges, "asked": []})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        serve.asked = handler.asked
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def read(place: str | Path) -> tuple[CaptureFile, list[bytes]]:
    """The capture, and its packets."""
    file = CaptureFile(place, 100_000)
    packets = [
        block.buf[at : at + n].tobytes()
        for block in file.blocks()
        for at, n in zip(block.packets.offset, block.packets.caplen, strict=True)
    ]
    return file, packets


def test_a_capture_in_a_store_gives_the_packets_of_the_file(bucket) -> None:
    made = bucket()
    made.put("in/a.pcap.zst", CAPTURE.read_bytes())
    there, packets = read(f"{made.uri}/in/a.pcap.zst")
    here, expected = read(CAPTURE)
    assert packets == expected
    assert len(packets) == 3109
    assert (there.info.sha256, there.info.size_bytes) == (here.info.sha256, CAPTURE.stat().st_size)
    assert there.info.path == f"{made.uri}/in/a.pcap.zst"
    assert place_of(there.info.path).size_bytes() == CAPTURE.stat().st_size
    _, by_uri = read(CAPTURE.as_uri())
    assert by_uri == expected


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_capture_behind_a_url_gives_the_packets_of_the_file(web, has_ranges: bool) -> None:
    base = web({"/a.pcap.zst": CAPTURE.read_bytes()}, has_ranges=has_ranges)
    there, packets = read(f"{base}/a.pcap.zst?X-Signature=secret")
    here, expected = read(CAPTURE)
    assert packets == expected
    assert there.info.path == f"{base}/a.pcap.zst"
    assert there.info.sha256 == (here.info.sha256 if has_ranges else None)
    assert place_of(f"{base}/a.pcap.zst").size_bytes() == CAPTURE.stat().st_size
    assert web.asked[0][0] == "/a.pcap.zst?X-Signature=secret"


def test_the_query_of_a_url_is_shown_nowhere(web) -> None:
    base = web({})
    place = place_of(f"{base}/a.pcap?X-Signature=hidden")
    assert "hidden" not in f"{place} {place!r} {place.name}"
    with pytest.raises(CaptureError, match="no such file") as raised:
        list(iter_blocks(place))
    assert "hidden" not in str(raised.value)


def test_only_ranges_are_read(web) -> None:
    base = web({"/large.pcap": pcap(100_000)})
    next(iter_blocks(f"{base}/large.pcap", 1 << 16))
    spans = [tuple(map(int, range_.removeprefix("bytes=").split("-"))) for _, range_ in web.asked]
    assert sum(last - first + 1 for first, last in spans) < 3 << 20  # two digests of a MiB, and a block
    assert max(last for _, last in spans) == len(pcap(100_000)) - 1


def test_a_password_comes_from_netrc_and_is_sent_over_https_only(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "netrc").write_text("machine files.example login me password geheim\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert http_file._login("https://files.example/a.pcap") == "Basic bWU6Z2VoZWlt"  # printf me:geheim | base64
    assert http_file._login("http://files.example/a.pcap") is None
    assert http_file._login("https://other.example/a.pcap") is None
    with pytest.raises(UsageError, match=r"netrc") as raised:
        list(iter_blocks("https://me:geheim@files.example/a.pcap"))
    assert "geheim" not in str(raised.value)


def test_what_cannot_be_read_from_the_web_is_one_sentence(web) -> None:
    base = web({})
    for name, why in (("nothing.pcap", "no such file"), ("secret.pcap", "access is denied")):
        with pytest.raises(CaptureError, match=rf"^{base}/{name}: {why}$"):
            list(iter_blocks(f"{base}/{name}"))
    with pytest.raises(
        UsageError, match=r"^http://127.0.0.1:9/a.pcap: the server cannot be reached: Connection refused"
    ):
        list(iter_blocks("http://127.0.0.1:9/a.pcap"))


def test_a_file_that_changes_or_vanishes_while_it_is_read_is_an_error(web, bucket) -> None:
    files = {"/a.pcap": pcap(20_000)}
    made, base = bucket(), web(files)
    made.put("a.pcap", files["/a.pcap"])
    made.put("b.pcap", files["/a.pcap"])
    changing, vanishing = (CaptureFile(f"{made.uri}/{name}", 1 << 16).blocks() for name in ("a.pcap", "b.pcap"))
    from_web = CaptureFile(f"{base}/a.pcap", 1 << 16).blocks()
    for blocks in (changing, vanishing, from_web):
        next(blocks)
    made.put("a.pcap", pcap(20_001))
    made.remove("b.pcap")
    files["/a.pcap"] = pcap(20_001)
    for blocks, why in ((changing, "changed"), (vanishing, "removed"), (from_web, "changed")):
        with pytest.raises(CaptureError, match=f"the file was {why} while it was read"):
            list(blocks)


def test_folders_and_globs_in_a_store(bucket) -> None:
    made = bucket()
    for name in ("d/b2.pcap", "d/b10.pcap.gz", "d/sub/c.PCAPNG", "d/notes.txt", "e/x.pcap"):
        made.put(name, b"")
    made.put("d/trace", pcap(1))

    def found(place: str) -> list[str]:
        return [str(capture).removeprefix(f"{made.uri}/") for capture in expand_inputs([f"{made.uri}/{place}"])]

    assert found("d") == found("d/") == ["d/b10.pcap.gz", "d/b2.pcap", "d/sub/c.PCAPNG", "d/trace"]
    assert found("d/*.pcap") == ["d/b2.pcap"]
    assert found("*/[bx]*") == ["d/b10.pcap.gz", "d/b2.pcap", "e/x.pcap"]
    assert found("d/**/*.PCAPNG") == ["d/sub/c.PCAPNG"]
    assert found("d/notes.txt") == ["d/notes.txt"]  # named by the user: read, and found to be none, later
    with pytest.raises(CaptureError, match=r"nothing.pcap: no such file"):
        found("nothing.pcap")
    with pytest.raises(UsageError, match="no capture"):
        found("d/*.txt")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("s3://no-such-bucket/a.pcap", "there is no such bucket"),
        ("nosuch://host/a.pcap", "no file system is known for this scheme"),
        ("s3://bucket/a.pcap?versionId=1", "settings in a URI"),
        ("s3://*/a.pcap", "a wildcard cannot stand"),
    ],
)
def test_a_place_that_cannot_be_is_one_sentence(bucket, place: str, why: str) -> None:
    bucket()
    with pytest.raises(UsageError, match=why) as raised:
        expand_inputs([place])
    assert str(raised.value).startswith(place)
    assert "\n" not in str(raised.value)


def test_a_server_that_does_not_answer_and_keys_that_it_does_not_know(bucket, monkeypatch) -> None:
    from moto import settings

    uri = bucket().uri
    with monkeypatch.context() as patched:
        patched.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)  # from here on moto checks credentials
        with pytest.raises(UsageError, match="check the credentials"):
            expand_inputs([f"{uri}/a.pcap"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match="cannot be reached"):
        expand_inputs([f"{uri}/a.pcap"])


def test_a_path_is_not_a_uri(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of(Path("a.pcap")) == place_of("./a.pcap") == LocalCapture(tmp_path / "a.pcap", "a.pcap")
    assert str(place_of("./a.pcap")) == "a.pcap"
    assert str(place_of(tmp_path.joinpath("a b.pcap").as_uri())).endswith("/a%20b.pcap")
    assert place_of(tmp_path.joinpath("a b.pcap").as_uri()).local == tmp_path / "a b.pcap"


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_key_log_behind_a_url_is_read_as_one_here(web, has_ranges: bool) -> None:
    line = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"
    base = web({"/a.log": line}, has_ranges=has_ranges)
    assert len(read_key_logs(key_log_places([f"{base}/a.log?X-Signature=secret"]))) == 1
    with pytest.raises(UsageError, match="the key log cannot be read: no such file") as error:
        read_key_logs(key_log_places([f"{base}/b.log?X-Signature=secret"]))
    assert "secret" not in str(error.value)
