"""What is said of a capture file before it is ingested and afterwards."""

from kafkascope_analyzer.dataset.tables import CAPTURES
from kafkascope_analyzer.report.capture_words import CUT_COLUMNS, PACKET_KINDS, cut_sentence


def test_kinds_of_packets_are_columns_of_captures() -> None:
    assert set(PACKET_KINDS) <= {column.name for column in CAPTURES.columns}


def test_a_file_that_was_read_whole_needs_no_sentence() -> None:
    assert len(CUT_COLUMNS) == 4
    assert cut_sentence("a.pcap", None, None, None) is None


def test_a_file_that_was_cut_says_where_and_why() -> None:
    assert cut_sentence("a.pcap", 1234, "the record is cut", None) == "a.pcap: byte 1234: the record is cut"
    told = cut_sentence("a.pcap", 1234, "the record is cut", 5678)
    assert told == "a.pcap: byte 1234: the record is cut; 5,678 bytes could not be read"
