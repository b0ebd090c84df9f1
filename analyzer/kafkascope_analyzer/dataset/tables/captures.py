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
        i64("snaplen", "snap length: most bytes of a packet that are kept; 0: no limit"),
        i64("n_packets", "packets in the file"),
        i64("n_truncated", "packets cut by the snap length"),
        i64(
            "n_dropped",
            "packets dropped according to the capturing program; null where the file does not have the count",
        ),
        i64("n_duplicates", "copies of packets (several interfaces, port mirroring); they do not count otherwise"),
        i64("n_not_tcp", "valid packets without TCP"),
        i64("n_malformed", "packets whose headers are broken, or cut before the end of the TCP header"),
        i64("n_unsupported", "packets of an unsupported link type"),
        i64("n_incomplete", "IP packets of which some fragments are missing"),
        i64("size_bytes", "size of the file"),
        i64("cut_at_byte", "first byte of the unpacked file that could not be read; null where all could"),
        text("cut_why", "why it could not be read"),
        i64("unread_bytes", "bytes of the unpacked file that could not be read, there and later"),
        i64(
            "n_wrong_times",
            "packets with an impossible time (before 1970, or later than 2099); each has the time of the "
            "previous packet",
        ),
        i64(
            "n_leaps",
            "leaps of the time by 30 days or more, forward or back, from one packet to the next: the clock "
            "was set, or times are wrong",
        ),
        *time("first", "time of the first packet"),
        *time("last", "time of the last packet"),
        i64(
            "uncovered_before_ns",
            "length of the time right before the first packet that no file covers, since the last packet "
            "before it, nanoseconds; null where the capture begins, or continues without a gap",
        ),
        text("capture_point", "capture point that recorded it; null without --capture-points"),
        text(
            "clock_reference",
            "capture point on whose clock all times of the file are; the point itself where it has no "
            "connection in common with another",
        ),
        text(
            "clock_kind",
            "how the clock differs from the reference: it is the reference, or differs by a constant, by a "
            "constant drift, or by steps",
            "reference",
            "constant",
            "drift",
            "steps",
        ),
        i64(
            "clock_ahead_ns",
            "how far the clock of the file was ahead of the reference at its first packet, nanoseconds; all "
            "times are corrected by it",
        ),
        i64("clock_uncertainty_ns", "possible error of the correction, nanoseconds"),
    ),
)
