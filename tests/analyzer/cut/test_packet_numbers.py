import pytest

from kafkascope_analyzer.cut.packet_numbers import parse_packets
from kafkascope_parsers.errors import UsageError


def test_packet_numbers() -> None:
    found = parse_packets("100-250, 300,1:7,0:1-2")
    assert [(r.capture_id, r.first, r.last) for r in found] == [
        (None, 100, 250),
        (None, 300, 300),
        (1, 7, 7),
        (0, 1, 2),
    ]
    assert [str(r) for r in found] == ["100-250", "300", "1:7", "0:1-2"]


@pytest.mark.parametrize("text", ["", "0", "5-3", "1,,2", "a", "1-", "-3", "1-2-3"])
def test_what_are_no_packet_numbers_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="not packet numbers"):
        parse_packets(text)
