"""Clients in the words of the page: the name of each, facts about it, its first start, and its problems."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafkascope_analyzer.report.formatting import count, safe
from kafkascope_analyzer.report.model.client_outcomes import ClientOutcome, outcome_of
from kafkascope_analyzer.report.model.client_texts import client_facts, client_name, kind_text, software_text
from kafkascope_analyzer.report.model.recoveries import recoveries_text
from kafkascope_analyzer.report.page_model.lanes import UNASSIGNED, LaneClient, Lanes
from kafkascope_analyzer.report.page_model.starts_and_recoveries import WordedRecovery, WordedStart
from kafkascope_analyzer.report.rows import grouped


def with_client_texts(
    lanes: Lanes,
    starts: Sequence[WordedStart],
    recoveries: Sequence[WordedRecovery],
    outcomes: Mapping[str, ClientOutcome],
    start_ns: int,
) -> tuple[LaneClient, ...]:
    """Returns the clients of the lanes with their words. outcomes: outcome of each client; start_ns: the capture's
    first nanosecond."""
    started: dict[str, WordedStart] = {}
    for row in starts:
        started.setdefault(row.client_instance_id, row)
    met = grouped(recoveries, lambda row: row.client_instance_id)

    def worded(client: LaneClient) -> LaneClient:
        mine = met.get(client.client_instance_id, ())
        start = started.get(client.client_instance_id)
        mechanisms = (lanes.connections[place].sasl_mechanism for place in client.conns)
        fared = outcome_of(outcomes, client.client_instance_id)
        return replace(
            client,
            name=name_of(client),
            what=_what(client),
            software=software_text(client),
            facts=client_facts(client, mechanisms, start_ns),
            start=None if start is None else start.in_short,
            start_outcome=None if start is None else start.outcome,
            outcome=fared.outcome,
            trouble=fared.trouble(recoveries_text(len(mine), mine)),
        )

    return tuple(map(worded, lanes.clients))


def name_of(client: LaneClient) -> str:
    """Returns the client id; else the principal; else the address and that there is no client id. The client id of a
    broker's own client may be a bare node id: it is given with the address, so that it is not mistaken for another
    client's.
    """
    named, place = client.client_id or client.principal, safe(client.client_ip or "?")
    if named and named.isdecimal():
        return f"{named} at {place}"
    return place if client.kind == UNASSIGNED and not named else client_name(named, place)


def _what(client: LaneClient) -> str:
    """Returns the second line of its label: kind, connections, errors."""
    kind = "no client known" if client.kind == UNASSIGNED else kind_text(client.kind)
    errors = f" · {count(client.n_errors, 'error')}" if client.n_errors else ""
    return f"{kind} · {count(len(client.conns), 'connection')}{errors}"
