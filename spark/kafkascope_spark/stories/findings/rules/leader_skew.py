"""`leader_skew`: one broker has far more traffic than the others."""

from collections import Counter

from kafkascope_analyzer.dataset.tables import TOPOLOGY
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of
from kafkascope_spark.stories.findings.conditions import NOT_NULL
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.shared_queries import USAGE
from kafkascope_spark.stories.findings.sql import FIRST_OF_KIND
from kafkascope_spark.stories.findings.wording import broker, percent, size

# One finding, about the busiest broker.
_QUERY = f"""
with nodes as (
    select node_id, sum(n) as n, sum(total_record_bytes) as moved_bytes, min(ts_ns) as first_ns,
        max(last_ns) as last_ns, min({FIRST_OF_KIND}).request_id as request_id
    from transfers group by node_id
), busiest as (
    select max(struct(moved_bytes, node_id, n, first_ns, last_ns, request_id)) as node, sum(moved_bytes) as all_bytes
    from nodes
)
select null as client_instance_id, null as conn_ids, node.*, all_bytes, n_brokers, array(node.request_id) as evidence
from busiest cross join (select count(distinct node_id) as n_brokers from brokers)
where n_brokers > 1 and all_bytes >= {limit.SKEW_BYTES}
    and node.moved_bytes * 1e0 * n_brokers >= all_bytes * {limit.SKEW_TIMES}e0"""


def _one_has_most(tables: Tables) -> bool:
    """Whether there are several brokers, and the busiest moved enough bytes and a multiple of its even share."""
    n_brokers = sum(node_id is not None for (node_id,) in rows_of(tables["brokers"], "node_id"))
    moved: Counter[int] = Counter()
    for node_id, n_bytes in rows_of(tables["transfers"], "node_id", "total_record_bytes"):
        moved[node_id] += n_bytes or 0
    is_busy = moved.total() >= limit.SKEW_BYTES
    return n_brokers > 1 and is_busy and max(moved.values()) * n_brokers >= moved.total() * limit.SKEW_TIMES


def _sentence(f: Facts) -> str:
    return (
        f"Broker {f.node_id} moved {percent(f.moved_bytes, f.all_bytes)} of all records ({size(f.moved_bytes)} of "
        f"{size(f.all_bytes)}), with {f.n_brokers} brokers in the cluster, from {f.begin(f.first_ns)}"
    )


DETECTOR = Detector(
    reads={
        "transfers": Where(
            USAGE,
            api_key=(api_keys.PRODUCE, api_keys.FETCH, api_keys.SHARE_FETCH),
            has_records=True,
            node_id=NOT_NULL,
            is_replica=False,
        ),
        "brokers": Groups(Where(TOPOLOGY, kind="broker"), per=("node_id",)),
    },
    candidates=Candidates({"transfers": ("node_id", "total_record_bytes"), "brokers": ("node_id",)}, _one_has_most),
    query=_QUERY,
    subject=lambda f: broker(f.node_id),
    sentence=_sentence,
)
RULE = Rule(
    name="leader_skew",
    title="One broker has most of the traffic",
    severity="info",
    meaning="Producers and consumers talk to the leader of each partition. When one broker leads the busy ones, it "
    "limits the whole cluster while others are idle.",
    looks_at=f"Bytes of records in Produce and in answers to clients' Fetch, by broker: the busiest one has "
    f"{limit.SKEW_TIMES} times its even share or more, of at least {limit.SKEW_BYTES // 1024} KiB. Brokers are counted "
    "from the cluster's metadata. A capture taken on one broker shows its own traffic only.",
    advice="Move leaders back to the preferred replicas with kafka-leader-election.sh --election-type preferred "
    "--all-topic-partitions (auto.leader.rebalance.enable does so by itself); move partitions with "
    "kafka-reassign-partitions.sh and a --throttle, as it copies their logs. Where one partition has most of the "
    "traffic, use keys that spread the records, or add partitions: records of a key then go to another partition than "
    "before.",
    sources=("auto.leader.rebalance.enable of the broker settings", "KIP-460"),
    detectors=(DETECTOR,),
)
