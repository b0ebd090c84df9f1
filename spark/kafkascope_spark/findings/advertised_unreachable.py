"""`advertised_unreachable`: Metadata told a client where the brokers are, and it cannot get there."""

import pyarrow.dataset as ds
from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS, DNS, TOPOLOGY
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned, servers, told
from kafkascope_spark.findings.rule import Finding, Rule, Way, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import CLIENT_COLUMNS, Tables

LOOPBACK = r"(?i)^(localhost(\.localdomain)?|127\..*|0\.0\.0\.0|::1?|)$"
PRIVATE = (
    r"(?i)^(10\.|127\.|192\.168\.|172\.(1[6-9]|2[0-9]|3[01])\.|169\.254\.|100\.(6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])\.|"
    r"f[cd][0-9a-f]{2}:|fe80:|::1$)"
)
"""RFC 1918, 3927, 4193, 4291, 6598: addresses that mean something in their own network only."""
PUBLIC = rf"^(?!{PRIVATE.removeprefix('(?i)^')})"
_NAME = "concat(host, ':', port)"


def never_answered(connections: ds.Dataset) -> bool:
    """Whether an address that somebody tried never answered anybody: what `not_answering` needs."""
    columns = ["server_ip", "server_port", "close_kind", "synack_ns", "client_bytes", "server_bytes"]
    tried, there = set(), set()
    for batch in connections.to_batches(columns=columns):
        for row in batch.to_pylist():
            server = row["server_ip"], row["server_port"]
            if row["close_kind"] in ("refused", "unanswered"):
                tried.add(server)
            if row["synack_ns"] is not None or row["client_bytes"] or row["server_bytes"]:
                there.add(server)
    return bool(tried - there)


def not_answering(tables: Tables) -> DataFrame:
    """Told, tried, and nobody ever answered there: refused, or SYNs without an answer."""
    tried = (
        tables.once(owned)
        .where("close_kind in ('refused', 'unanswered')")
        .join(tables.once(servers).where("n_there = 0").select("server"), "server")
        .selectExpr("*", "if(kind = 'unknown', null, client_instance_id) as tried_by")
        .groupBy("from_ip", "server", "tried_by")
        .agg(
            *exprs(
                "count(*) as n",
                "count_if(close_kind = 'refused') as n_refused",
                "min(first_ns) as tried_ns",
                "max(last_ns) as last_ns",
                "transform(array_sort(collect_list(struct(first_ns, conn_id))), t -> t.conn_id) as tries",
            )
        )
    )
    names = tables[DNS].selectExpr("name as host", "explode(addresses) as address").distinct()
    each = (
        tables.once(told)
        .join(names, "host", "left")
        .selectExpr("*", "concat(coalesce(address, host), ':', port) as server")
        .join(tried.withColumnRenamed("from_ip", "client_ip"), ["client_ip", "server"])
        .where("last_ns >= told_ns and coalesce(tried_by = client_instance_id, true)")
    )
    return _per_client(
        each,
        f"concat(', and nobody answers there: ', {wording.counted('sum(n)', 'attempt')}, ', ', sum(n_refused), "
        "' of them refused')",
        "flatten(collect_list(tries))",
    )


def no_such_name(tables: Tables) -> DataFrame:
    """Told by a name that the name server does not know."""
    unknown = (
        tables[DNS]
        .groupBy("client_ip", "name")
        .agg(
            *exprs(
                "count_if(rcode <> 'NOERROR') as n",
                "count_if(size(addresses) > 0) as n_found",
                "min_by(rcode, if(rcode <> 'NOERROR', ts_ns, null)) as rcode",
                "max(ts_ns) as last_ns",
            )
        )
        .where("n > 0 and n_found = 0")
        .withColumnRenamed("name", "host")
    )
    each = tables.once(told).join(unknown, ["client_ip", "host"])
    answers = "concat(', and the name server answers ', min(rcode), ' (', sum(n), ' times)')"
    return _per_client(each, answers, "cast(array() as array<string>)")


def of_itself(tables: Tables) -> DataFrame:
    """Told localhost, 0.0.0.0 or nothing, and the client is on another host than the broker."""
    here = tables.once(servers).where("n_there > 0").selectExpr("server as somewhere")
    each = (
        tables.once(told)
        .where(f"host rlike r'{LOOPBACK}' and not client_ip rlike r'{LOOPBACK}'")
        .where("client_ip <> substring_index(from_server, ':', 1)")
        .join(here, exprs("somewhere = concat(if(host = 'localhost', '127.0.0.1', host), ':', port)")[0], "left_anti")
        .selectExpr("*", "n_told as n", "told_ns as last_ns")
    )
    return _per_client(each, "', which is the client''s own host, not the broker''s'", "cast(array() as array<string>)")


def of_another_network(tables: Tables) -> DataFrame:
    """Told a private address, and the client is in the public network; it never tries."""
    tried = tables.once(servers).selectExpr("server as somewhere")
    each = (
        tables.once(told)
        .where(f"host rlike r'{PRIVATE}' and not host rlike r'{LOOPBACK}' and not client_ip rlike r'{PRIVATE}'")
        .join(tried, exprs(f"somewhere = {_NAME}")[0], "left_anti")
        .selectExpr("*", "n_told as n", "told_ns as last_ns")
    )
    return _per_client(each, "', private addresses of another network than its own'", "cast(array() as array<string>)")


def _per_client(each: DataFrame, how: str, tries: str) -> DataFrame:
    """One finding per client. each: rows of told with n and last_ns; how, tries: aggregates over them."""
    rows = each.groupBy(*CLIENT_COLUMNS).agg(
        *exprs(
            f"array_sort(collect_set({_NAME})) as addresses",
            "min_by(from_server, told_ns) as from_server",
            f"{how} as how",
            "sum(n) as n",
            "min(told_ns) as first_ns",
            "greatest(max(last_ns), min(told_ns)) as last_ns",
            f"concat({wording.evidence('told_by', 'told_ns')}, {tries}) as evidence",
        )
    )
    return found(
        rows,
        Finding(
            severity="error",
            sentence=f"concat({wording.called()}, ' was told by ', from_server, ' that brokers are at ', "
            f"{wording.listed('addresses')}, how, '; first told at ', {wording.clock('first_ns')})",
            subject="array_join(slice(addresses, 1, 10), ', ')",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            advice="concat('Set advertised.listeners of the listener that ', from_server, ' belongs to (now ', "
            f"{wording.listed('addresses')}, ') to a host and port that this client can resolve and reach, or open the "
            "way to it; a client elsewhere needs a listener of its own (listeners, listener.security.protocol.map).')",
        ),
    )


RULE = Rule(
    name="advertised_unreachable",
    title="A client cannot reach the brokers where the cluster says they are",
    severity="error",
    meaning="Bootstrap works, and then nothing: clients take only a list of brokers from the bootstrap address, "
    "and connect to the hosts and ports in it (advertised.listeners). Those do not answer, do not resolve, or "
    "mean the client's own host.",
    looks_at="Addresses in Metadata answers to this client: SYNs to them that were refused or not answered, where "
    "nobody in the capture ever got through; names for which the name server only answers errors; localhost, "
    "0.0.0.0 or an empty host told to a client on another host; private addresses told to a client with a public "
    "one. An address that answered once is no case for it: see broker_lost.",
    advice="Set advertised.listeners to a host and port that the clients can resolve and reach.",
    sources=("KIP-103", "KIP-302", "RFC 1918", "RFC 6598", "org.apache.kafka.clients.Metadata"),
    find=not_answering,
    signs=(Sign(CONNECTIONS, shows=never_answered),),
    also=(
        Way(no_such_name, (Sign(DNS, "rcode", pattern="^(?!NOERROR$)"),)),
        Way(of_itself, (Sign(TOPOLOGY, "host", pattern=LOOPBACK),)),
        Way(of_another_network, (Sign(CONNECTIONS, "client_ip", pattern=PUBLIC),)),
    ),
)
