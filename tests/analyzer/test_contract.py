"""Closed lists of the contract against those of the parsers, which it may not import (they compile kernels)."""

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES, TCP_EVENT_KINDS, UNDECODED_REASONS
from kafkascope_parsers.exchanges import STATUSES
from kafkascope_parsers.framing.layout import REASONS
from kafkascope_parsers.tcp import EVENT_KINDS


def test_tcp_events_are_named_as_tcp_names_them() -> None:
    assert TCP_EVENT_KINDS == EVENT_KINDS


def test_every_reason_of_framing_is_in_the_contract() -> None:
    assert set(REASONS) <= set(UNDECODED_REASONS)


def test_statuses_of_requests_are_those_of_exchanges() -> None:
    """The column `status` of exchanges is an index of both."""
    assert REQUEST_STATUSES == STATUSES
