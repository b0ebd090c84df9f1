"""Names that are like one that does not exist."""

from kafkascope_analyzer.dataset.near_names import LONGEST, did_you_mean


def test_the_names_that_are_alike_in_any_case() -> None:
    assert did_you_mean("fech", ["Produce", "Fetch", "Metadata"]) == " (did you mean Fetch?)"
    assert did_you_mean("ORDERS-1", ["orders-1", "orders-2", "x"]).startswith(" (did you mean orders-1 or orders-2")
    assert did_you_mean("zzz", ["Produce"]) == ""
    assert did_you_mean("", []) == ""


def test_long_names_from_the_wire_are_not_compared() -> None:
    """A comparison takes time that grows with both lengths, and a client id may have 32,000 characters."""
    assert did_you_mean("a" * 30_000, ["a" * (LONGEST + 1)] * 1_000) == ""
