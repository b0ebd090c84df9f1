"""`advertised_mismatch`: the address that is advertised for one broker answers as another."""

from pyspark.sql import DataFrame

from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.inputs import exprs, owned
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

_ANOTHER = ", but answers for "
"""What connections.node_id_why says of such an address."""


def find(tables: Tables) -> DataFrame:
    """One finding per address."""
    each = (
        tables.once(owned)
        .where(f"node_id is null and contains(node_id_why, '{_ANOTHER}')")
        .groupBy("server", "node_id_why")
        .agg(
            *exprs(
                "count(*) as n",
                "size(collect_set(client_instance_id)) as n_clients",
                "transform(array_sort(collect_list(struct(first_ns, conn_id))), c -> c.conn_id) as evidence",
                "min(first_ns) as first_ns",
                "max(last_ns) as last_ns",
            )
        )
    )
    return found(
        each,
        Finding(
            severity="error",
            sentence=f"concat(server, ' is ', node_id_why, ' (', {wording.counted('n', 'connection')}, ' of ', "
            f"{wording.counted('n_clients', 'client')}, ', first at ', {wording.clock('first_ns')}, ')')",
            subject="server",
            conn_ids="evidence",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="advertised_mismatch",
    title="The address of one broker answers as another",
    severity="error",
    meaning="Clients go to this address for what one broker leads or coordinates, and another broker is behind it: "
    "a wrong advertised.listeners, a wrong DNS record, or port forwardings that are mixed up. Nearly every "
    "request is refused there.",
    looks_at="Addresses that Metadata names for one node id and that answer for topic-partitions and groups which "
    "the cluster says another node leads or coordinates (nine in ten answers). It says nothing of TLS that is not "
    "decrypted.",
    advice="Compare advertised.listeners of the two brokers with DNS and with the port forwardings or load "
    "balancer on the way; each must lead to the broker that advertises it.",
    sources=("KIP-103",),
    find=find,
    signs=(Sign(CONNECTIONS, "node_id_why", pattern=_ANOTHER),),
)
