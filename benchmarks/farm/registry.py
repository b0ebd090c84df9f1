"""The layers, from bytes up, and how many inputs each gets in a run of each size."""

from functools import partial

from benchmarks.farm import scene_messages, scene_packets, scene_secrets
from benchmarks.farm.capture_files import FileRounds, PacketRounds
from benchmarks.farm.conversations import ConversationRounds
from benchmarks.farm.damaged_datasets import DatasetRounds
from benchmarks.farm.layer import Inputs, Layer
from benchmarks.farm.machine import MachineRounds
from benchmarks.farm.messages import MessageRounds
from benchmarks.farm.record_sets import RecordSetRounds
from benchmarks.farm.tls_sessions import TlsRounds
from benchmarks.farm.whole_analyze import Change, WholeRounds

SIZES = ("smoke", "usual", "long")


def _whole(name: str, what: str, change: Change, n: Inputs) -> Layer:
    """A layer of whole runs of `analyze`. They take seconds each: a smoke run has one of a few layers."""
    return Layer(name, what, partial(WholeRounds, change), n, round_s=180, growth_mb=256, unchecked=("smoke",))


_ALL = (
    Layer(
        "files",
        "pcap and pcapng in five compressions: lengths, options, link types, cut, flipped",
        FileRounds,
        Inputs(200, 4_000, 100_000),
    ),
    Layer(
        "packets",
        "links, tunnels, fragments, TCP, DNS, clocks, and packets changed blindly",
        PacketRounds,
        Inputs(5_000, 200_000, 2_000_000),
    ),
    Layer(
        "messages",
        "frames of every API, version and direction: bytes, and fields by type",
        MessageRounds,
        Inputs(20_000, 600_000, 7_000_000),
    ),
    Layer(
        "record_sets", "record sets and what is compressed in them", RecordSetRounds, Inputs(2_000, 60_000, 1_000_000)
    ),
    Layer(
        "conversations",
        "requests and responses in segments, some lost, in blocks",
        ConversationRounds,
        Inputs(240, 4_000, 100_000),
    ),
    Layer(
        "tls",
        "TLS handshakes and records, with keys and without, in segments, some lost, in blocks",
        TlsRounds,
        Inputs(100, 20_000, 1_000_000),
    ),
    _whole(
        "fields",
        "fields of real messages: limits of their types, hostile strings, counts, tags",
        scene_messages.odd_fields,
        Inputs(1, 40, 5_000),
    ),
    _whole("other_apis", "exchanges of any API, random and hostile", scene_messages.other_apis, Inputs(0, 30, 4_000)),
    _whole("frames", "bytes and sizes of frames", scene_messages.blind_frames, Inputs(0, 15, 2_000)),
    _whole("records", "record batches in Produce and Fetch", scene_messages.odd_records, Inputs(0, 15, 1_500)),
    Layer(
        "datasets",
        "files of datasets: missing, cut, flipped, odd manifests",
        DatasetRounds,
        Inputs(6, 200, 5_000),
        growth_mb=256,
        unchecked=("smoke",),
    ),
    _whole("members", "subscriptions and assignments of groups", scene_messages.odd_members, Inputs(0, 15, 1_000)),
    _whole("logins", "SASL exchanges, well formed and not", scene_secrets.odd_logins, Inputs(0, 15, 1_500)),
    _whole(
        "secrets", "a marked secret in each field that may hold one", scene_secrets.marked_secrets, Inputs(1, 20, 2_000)
    ),
    _whole("clocks", "times of packets", scene_packets.odd_clock, Inputs(1, 10, 1_000)),
    _whole("names", "DNS", scene_packets.odd_names, Inputs(0, 10, 500)),
    _whole(
        "tcp", "sequence numbers, overlaps, resets, losses, keep-alives", scene_packets.odd_tcp, Inputs(1, 15, 1_500)
    ),
    _whole("links", "VLAN, MPLS, PPPoE, GRE, VXLAN, IPv6, fragments", scene_packets.odd_links, Inputs(0, 10, 1_000)),
    Layer(
        "machine",
        "processes killed, without memory, files, disk or output, two at once",
        MachineRounds,
        Inputs(0, 20, 1_000),
        round_s=900,
        unchecked=("smoke", "usual", "long"),
    ),
)
LAYERS = {layer.name: layer for layer in _ALL}
