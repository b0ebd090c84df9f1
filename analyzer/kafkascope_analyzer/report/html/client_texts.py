"""Clients in words: the name of each, what is known of it, its first start, and what it met."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafkascope_analyzer.report.formatting import clock, count, safe
from kafkascope_analyzer.report.html.lanes import UNASSIGNED, LaneClient
from kafkascope_analyzer.report.html.recovery_texts import recoveries_in_short
from kafkascope_analyzer.report.html.starts_and_recoveries import PageRecovery, PageStart
from kafkascope_analyzer.report.rows import grouped


def with_client_texts(
    clients: Sequence[LaneClient], starts: Sequence[PageStart], recoveries: Sequence[PageRecovery], start_ns: int
) -> tuple[LaneClient, ...]:
    """The clients with their words. start_ns: the capture's first nanosecond."""
    started: dict[str, PageStart] = {}
    for row in starts:
        started.setdefault(row.client_instance_id, row)
    met = grouped(recoveries, lambda row: row.client_instance_id)
    return tuple(_worded(client, started, met, start_ns) for client in clients)


def _worded(
    client: LaneClient, started: Mapping[str, PageStart], met: Mapping[str, Sequence[PageRecovery]], start_ns: int
) -> LaneClient:
    start = started.get(client.client_instance_id)
    return replace(
        client,
        name=client_name(client),
        what=_what(client),
        software=_software(client),
        facts=_facts(client, start_ns),
        start=None if start is None else start.in_short,
        start_outcome=None if start is None else start.outcome,
        recoveries=recoveries_in_short(met.get(client.client_instance_id, ())),
    )


def client_name(client: LaneClient) -> str:
    """The client id, else the principal, else that it has none and its address. The client id of a broker's own client
    may be a bare node id: with the address beside it nobody takes it for another client's.
    """
    named, place = client.client_id or client.principal, safe(client.client_ip or "?")
    if named:
        return f"{safe(named)} at {place}" if named.isdecimal() else safe(named)
    return place if client.kind == UNASSIGNED else f"(no client id) {place}"


def _what(client: LaneClient) -> str:
    """The second line of its label: what it is, its connections, its errors."""
    kind = "no client known" if client.kind == UNASSIGNED else client.kind.replace("_", " ")
    errors = f" · {count(client.n_errors, 'error')}" if client.n_errors else ""
    return f"{kind} · {count(len(client.conns), 'connection')}{errors}"


def _software(client: LaneClient) -> str:
    return " ".join(safe(part) for part in (client.software_name, client.software_version) if part)


def _facts(client: LaneClient, start_ns: int) -> tuple[str, ...]:
    facts = [f"{client.kind.replace('_', ' ')} at {safe(client.client_ip or '?')}", _software(client)]
    if client.group_id:
        protocol = f" ({client.group_protocol})" if client.group_protocol else ""
        facts.append(f"group {safe(client.group_id)}{protocol}")
    named = {"transactional id": client.transactional_id, "principal": client.principal}
    facts += [f"{what} {safe(name)}" for what, name in named.items() if name]
    first, last = client.first_ns or start_ns, client.last_ns or start_ns
    end = f", {client.end.replace('_', ' ')}" if client.end else ""
    facts.append(f"{clock(first - start_ns)} to {clock(last - start_ns)}{end}")
    facts.append(f"{count(client.n_requests or 0, 'request')}, {count(client.n_errors or 0, 'error')}")
    if client.identity == "shared":
        why = f": {safe(client.identity_why)}" if client.identity_why else ""
        facts.append(f"may be more than one client object{why}")
    return tuple(fact for fact in facts if fact)
