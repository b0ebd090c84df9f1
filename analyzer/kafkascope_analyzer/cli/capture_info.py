"""Overview of a capture from its first part: files, packets, times, link types, and the servers that seem to speak
Kafka."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.cli.options import Format
from kafkascope_analyzer.cli.show import show_model
from kafkascope_analyzer.connections.servers import Seen, Server
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.place import CapturePlace
from kafkascope_analyzer.read.source import CaptureFile
from kafkascope_analyzer.report.capture_words import CUT_COLUMNS, PACKET_KINDS, cut_sentence
from kafkascope_analyzer.report.formatting import absolute, address, count, list_of, safe, size, span
from kafkascope_analyzer.report.terminal.layout import grid, heading, line, more
from kafkascope_parsers.link import LinkReader
from kafkascope_parsers.link.layers import LINKTYPE_NAMES
from kafkascope_parsers.schema import API_VERSION_RANGE

BLOCK_BYTES = 8 << 20
"""Unpacked bytes of each file that are read: protocols and servers of the first part of a capture continue
in the rest."""
MOST_FILES = 50
"""Most files that are opened; the others are only counted."""
MOST_SERVERS = 20

Model = dict[str, Any]


def show_capture(place: str, how: Format) -> None:
    """Prints the overview of the capture on standard output. Raises CaptureError, UsageError."""
    model = capture_model([place])
    show_model(model, _parts(model), how)


def capture_model(places: Sequence[str]) -> Model:
    """Returns files and servers, as seen in the first BLOCK_BYTES of each file. Raises CaptureError, UsageError."""
    inputs = expand_inputs(places)
    versions = np.ascontiguousarray(API_VERSION_RANGE, np.int16)
    seen = Seen()
    files = [_file(place, seen, versions, alone=len(inputs) == 1) for place in inputs[:MOST_FILES]]
    files.sort(key=lambda file: file["first_ns"] or 0)
    starts = [f["first_ns"] for f in files if f["first_ns"] is not None]
    ends = [f["last_ns"] for f in files if f["last_ns"] is not None]
    return {
        "files": files,
        "n_files": len(inputs),
        "n_packets": sum(f["n_packets"] for f in files),
        "start_ns": min(starts, default=None),
        "end_ns": max(ends, default=None),
        "start": absolute(min(starts)) if starts else None,
        "duration_us": (max(ends) - min(starts)) // 1000 if starts else None,
        "whole": all(f["whole"] for f in files) and len(inputs) <= MOST_FILES,
        "servers": [_server(server) for server in seen.servers()],
    }


def _server(server: Server) -> Model:
    """Returns a server as JSON values."""
    return {
        "address": address(server.ip, server.port),
        "n_connections": server.n_connections,
        "n_segments": server.n_segments,
        "payload_bytes": server.payload_bytes,
        "speaks": server.speaks,
    }


def _file(place: CapturePlace, seen: Seen, versions: "np.typing.NDArray[np.int16]", *, alone: bool) -> Model:
    """Returns the overview of the file's first part; adds its segments to `seen`."""
    capture, link = CaptureFile(place, BLOCK_BYTES, may_be_empty=not alone), LinkReader()
    blocks, n_bytes = capture.blocks(), 0
    for block in blocks:
        buf, segments = link.read_segments(block.buf, block.packets)
        seen.add(buf, segments, versions)
        n_bytes += int(block.packets.caplen.sum())
        if n_bytes > BLOCK_BYTES // 2:  # a corrupt byte divides a large block into small ones
            break
    whole = next(blocks, None) is None
    info, kinds = capture.info, link.take_counts()
    return {
        "path": info.path,
        "format": info.format,
        "compression": info.compression,
        "link_types": _link_types(info.linktypes),
        "snaplen": info.snaplen,
        "size_bytes": place.size_bytes() or info.size_bytes,
        "n_packets": info.n_packets,
        "n_truncated": info.n_truncated,
        "n_dropped": info.n_dropped,
        "n_duplicates": kinds.duplicates,
        "n_not_tcp": kinds.other,
        "n_malformed": kinds.malformed,
        "n_unsupported": kinds.unsupported,
        "n_incomplete": kinds.given_up,
        "cut_at_byte": info.cut_at_byte,
        "cut_why": info.cut_why,
        "unread_bytes": info.unread_bytes,
        "first_ns": info.first_ts_ns,
        "last_ns": info.last_ts_ns,
        "whole": whole,
    }


def _link_types(numbers: Sequence[int]) -> str:
    """Returns link-layer types by name; by number where the type is not supported."""
    return ", ".join(LINKTYPE_NAMES.get(number, f"link type {number}") for number in numbers) or "no interface"


def _parts(model: Model) -> Iterator[RenderableType]:
    yield line(("kafkascope", "bold"), " · ", (list_of([safe(f["path"]) for f in model["files"]], 6), "bold"))
    if model["start"] is not None:
        yield line(f"{model['start']} · {span(model['duration_us'])} · {count(model['n_packets'], 'packet')}")
    if not model["whole"]:
        yield line(("only the first part was looked at: kafkascope ingest reads all of it", "yellow"))
    for sentence in (cut_sentence(*(file[name] for name in CUT_COLUMNS)) for file in model["files"]):
        if sentence:
            yield line((sentence, "yellow"))
    yield heading("Files")
    table = grid(
        ("file", ""), ("format", ""), ("link", ""), ("size", "rn"), ("packets", "rn"), ("cut", "rn"), ("dropped", "rn")
    )
    for file in model["files"]:
        packed = "" if file["compression"] == "none" else f" ({file['compression']})"
        more_packets = "" if file["whole"] else " or more"
        dropped = "" if file["n_dropped"] is None else f"{file['n_dropped']:,}"
        figures = f"{file['n_packets']:,}{more_packets}", f"{file['n_truncated']:,}", dropped
        table.add_row(
            Text(safe(file["path"])), file["format"] + packed, file["link_types"], size(file["size_bytes"]), *figures
        )
    yield table
    for file in model["files"]:
        odd = [f"{file[name]:,} {what}" for name, what in PACKET_KINDS.items() if file[name] and name != "n_truncated"]
        if odd:
            yield line(f"{safe(file['path'])}: packets that are no TCP segments of their own: {list_of(odd, len(odd))}")
    yield from more(model["n_files"] - len(model["files"]), "file", "captures, after ingest")
    yield from _servers(model["servers"])


def _servers(servers: list[Model]) -> Iterator[RenderableType]:
    yield heading("TCP servers")
    if not servers:
        yield line("no TCP was seen")
        return
    table = grid(("server", ""), ("seems to speak", ""), ("connections", "rn"), ("segments", "rn"), ("payload", "rn"))
    for server in servers[:MOST_SERVERS]:
        figures = f"{server['n_connections']:,}", f"{server['n_segments']:,}", size(server["payload_bytes"])
        table.add_row(Text(safe(server["address"])), server["speaks"], *figures)
    yield table
    yield from more(len(servers) - MOST_SERVERS, "server", "connections, after ingest")
