"""Addresses of a name at which nobody answers, from rows of broker states and of look-ups written by hand."""

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.hosts.dead_addresses import mark_dead_addresses
from kafkascope_spark.stories.incidents.kinds.listener import LISTENER
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun, lookup_runs

from .conftest import NS, MakeRow, MakeState, row_of


def answered(*addresses: str, name: str = "kafka.example") -> list[LookupRun]:
    lookups = [
        row_of(Lookup, server_ip="10.0.0.2", name=name, ts_ns=NS, answer_ns=NS + 5, rcode="NOERROR", addresses=(each,))
        for each in addresses
    ]
    return list(lookup_runs("10.0.0.21", lookups, 90 * NS))


@pytest.mark.parametrize(
    ("addresses", "kind"),
    [(("10.0.0.9", "10.0.0.1"), "dead_address"), (("10.0.0.9",), "listener"), (("10.0.0.9", "10.0.0.8"), "listener")],
)
def test_an_address_is_dead_where_the_name_has_another_one_that_serves(
    addresses: tuple[str, ...], kind: str, state: MakeState, recovery: MakeRow
) -> None:
    failure = Failure(
        LISTENER, "10.0.0.9:9092", 5 * NS, None, server="10.0.0.9:9092", servers=frozenset({"10.0.0.9:9092"})
    )
    mark_dead_addresses([failure], answered(*addresses), [state(1, 21, "serving", 0, 60)])
    assert failure.kind.name == kind


def test_both_families_of_addresses_are_of_one_name() -> None:
    (run,) = answered("fd00::11", "10.0.0.11")
    assert run.several == (("kafka.example", "10.0.0.11", "fd00::11"),)
