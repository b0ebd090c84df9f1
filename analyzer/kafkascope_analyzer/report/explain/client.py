"""A client in sentences: what it is, where it connected, how it started, what it waited for, how it recovered."""

from collections.abc import Iterator

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span, one_of
from kafkascope_analyzer.report.commands import cut_command, wireshark_command
from kafkascope_analyzer.report.explain.identities import CLIENT, Identity
from kafkascope_analyzer.report.explain.model import Explanation
from kafkascope_analyzer.report.formatting import clock, count, node, safe
from kafkascope_analyzer.report.model.client_texts import client_facts, client_name
from kafkascope_analyzer.report.model.clients import Client, one_client
from kafkascope_analyzer.report.model.incidents.waits import wait_text
from kafkascope_analyzer.report.rows import read
from kafkascope_spark.stories.stalls.table import Stall

MOST_STALLS = 20


def explain_client(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains a client: its starts, stalls and recoveries with their ids."""
    client, start_ns = one_client(dataset, identity.id), capture_span(dataset)[0]
    stalls = sorted(read(dataset, Stall, one_of("client_instance_id", [identity.id])), key=lambda stall: stall.from_ns)
    mechanisms = [connection.sasl_mechanism for connection in client.connections]
    sentences = [f"{client_name(client.client_id, client.client_ip)}:"]
    sentences += [f"{fact}." for fact in client_facts(client, mechanisms, start_ns)]
    sentences += [_connections(client), *_starts(client, start_ns), *_stalls(stalls, start_ns)]
    sentences += _recoveries(client, start_ns)
    ports = [int(c.server.rpartition(":")[2]) for c in client.connections if c.server]
    cut = cut_command("client", [identity.id], identity.id)
    return Explanation(CLIENT, identity.id, sentences, cut, wireshark_command(identity.id, ports), {"client": client})


def _connections(client: Client) -> str:
    brokers = sorted({node(connection.node_id, connection.server) for connection in client.connections})
    return f"It had {count(client.n_connections, 'connection')}, to {', '.join(brokers) or 'nobody'}."


def _starts(client: Client, start_ns: int) -> Iterator[str]:
    for start in client.starts:
        begun = clock((start.start_ns or start_ns) - start_ns)
        yield f"It started at {begun}: {start.outcome_text}{start.failed_words} ({start.startup_id})."


def _stalls(stalls: list[Stall], start_ns: int) -> Iterator[str]:
    for stall in stalls[:MOST_STALLS]:
        yield f"From {clock(stall.from_ns - start_ns)} on it waited {wait_text(stall)} ({stall.stall_id})."
    if len(stalls) > MOST_STALLS:
        yield f"… and {len(stalls) - MOST_STALLS:,} more stalls (table stories/stalls)."


def _recoveries(client: Client, start_ns: int) -> Iterator[str]:
    """Yields a sentence for each cause of recoveries."""
    for cause in client.recoveries:
        met = f"At {clock((cause.start_ns or start_ns) - start_ns)} it got {safe(cause.first_error_name)}"
        yield f"{met} on {safe(cause.resource or '?')}: {cause.how_it_ended} ({cause.cause_id or cause.recovery_id})."
