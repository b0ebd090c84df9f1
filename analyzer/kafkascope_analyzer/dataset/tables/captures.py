"""The input files."""

from kafkascope_analyzer.dataset.contract import Table, i64, text, time
from kafkascope_analyzer.dataset.tables.columns import CAPTURE

CAPTURES = Table(
    "captures",
    "input file",
    (
        CAPTURE,
        text("path", "file name as given"),
        text("format", "file format", "pcap", "pcapng"),
        text("linktype", "link-layer types of its interfaces, comma separated"),
        i64("snaplen", "longest packet part kept, bytes; 0 is no limit"),
        i64("n_packets", "packets in the file"),
        i64("n_truncated", "packets cut by the snap length"),
        i64("n_dropped", "packets the capturing program says it dropped; null where it does not say"),
        i64("n_duplicates", "packets that the file shows once more: several interfaces, port mirroring; not counted"),
        i64("n_not_tcp", "sound packets without TCP"),
        i64("n_malformed", "packets whose headers are broken, or cut before the end of the TCP header"),
        i64("n_unsupported", "packets of a link type that is not read"),
        i64("n_incomplete", "IP packets in fragments that did not all come"),
        i64("size_bytes", "size of the file"),
        i64("cut_at_byte", "first byte of the unpacked file that could not be read; null where all could"),
        text("cut_why", "why it could not be read"),
        i64("unread_bytes", "bytes of the unpacked file that could not be read, there and further on"),
        i64(
            "n_wrong_times",
            "packets whose time cannot be (before 1970, or later than 2099); each has the time of the packet before it",
        ),
        i64(
            "n_leaps",
            "how often the time goes forward or back by 30 days or more from one packet to the next: the clock was "
            "set, or times are wrong",
        ),
        *time("first", "time of the first packet"),
        *time("last", "time of the last packet"),
        i64(
            "uncovered_before_ns",
            "where no file covers the time right before the first packet: how long that was, since the last packet "
            "before it, nanoseconds; null where the capture begins, or goes on",
        ),
        text("capture_point", "capture point that recorded it; null without --capture-points"),
        text(
            "clock_reference",
            "capture point whose clock all times of the file are given by; the point itself where it shares no "
            "connection with another",
        ),
        text(
            "clock_kind",
            "how the clock differs from the reference: not at all as it is the reference, by a constant, by a constant "
            "drift, or by steps",
            "reference",
            "constant",
            "drift",
            "steps",
        ),
        i64(
            "clock_ahead_ns",
            "by how much the clock of the file was ahead of the reference at its first packet, nanoseconds; all times "
            "have been corrected by it",
        ),
        i64("clock_uncertainty_ns", "by how much the correction may be wrong, nanoseconds"),
    ),
)
