"""`written_out_of_order`: a batch that was refused and sent again is written after batches that were sent later."""

from collections import defaultdict
from itertools import groupby
from operator import itemgetter

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import ERRORS, PARTITIONS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings.candidates import Candidates, Tables, rows_of, with_client
from kafkascope_spark.stories.findings.conditions import NOT_NULL, above, longer_than
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, listed, times
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import CLIENTS

_SENT = ("conn_id", "request_id", "topic", "partition", "ts_ns", "first_timestamp_ms", "max_timestamp_ms", "n_records")
_PLACE = ["client_instance_id", "topic", "partition"]
_BATCH = "client_instance_id, topic, partition, first_timestamp_ms, max_timestamp_ms, n_records"
_SAME_BATCH = " and ".join(f"a.{name} = r.{name}" for name in _BATCH.split(", "))
# One finding per client. `refused`: batches without a producer id that a broker refused; `late`:
# the same batch, by its create times and number of records, sent again after the refusal and accepted; `overtaken`:
# batches that the client sent after the first attempt, and that got a lower offset.
_QUERY = f"""
with clients_of as (
    select client_instance_id, client_id, client_ip, software_name, conn_id from connection_clients
    where {NO_BROKER}
), refused as (
    select c.*, p.topic, p.partition, p.first_timestamp_ms, p.max_timestamp_ms, p.n_records, p.request_id,
        e.error_name, q.ts_ns, q.response_ns
    from refusals e join partitions p on p.request_id = e.request_id and p.topic = e.topic
            and p.partition = e.partition and p.direction = 'request'
        join requests q on q.request_id = e.request_id
        join clients_of c on c.conn_id = p.conn_id
    where p.n_records > 0 and p.producer_id is null
), places as (
    select distinct client_instance_id, topic, partition from refused
), accepted as (
    select c.client_instance_id, s.topic, s.partition, s.first_timestamp_ms, s.max_timestamp_ms, s.n_records,
        q.ts_ns, q.request_id, q.conn_id, a.partition_offset as base
    from partitions s join clients_of c on c.conn_id = s.conn_id
        join places x on x.client_instance_id = c.client_instance_id and x.topic = s.topic
            and x.partition = s.partition
        join partitions a on a.request_id = s.request_id and a.topic = s.topic and a.partition = s.partition
            and a.direction = 'response'
        join requests q on q.request_id = s.request_id
    where s.api_key = {api_keys.PRODUCE} and s.direction = 'request' and a.error_code = 0 and a.partition_offset >= 0
), late as (
    select r.client_instance_id, r.client_id, r.client_ip, r.software_name, r.topic, r.partition, r.first_timestamp_ms,
        r.max_timestamp_ms, r.n_records, min(r.ts_ns) as ts_ns, min_by(r.request_id, r.ts_ns) as request_id,
        min_by(r.error_name, r.ts_ns) as error_name, min(struct(a.ts_ns, a.base, a.request_id, a.conn_id)) as again
    from refused r join accepted a on {_SAME_BATCH} and a.ts_ns >= r.response_ns
    group by r.client_instance_id, r.client_id, r.client_ip, r.software_name, r.topic, r.partition,
        r.first_timestamp_ms, r.max_timestamp_ms, r.n_records
), overtaken as (
    select l.*, o.base as other_base, o.n_records as other_records, o.request_id as other_id
    from late l join accepted o on o.client_instance_id = l.client_instance_id and o.topic = l.topic
        and o.partition = l.partition
    where o.ts_ns > l.ts_ns and o.base < l.again.base and o.ts_ns < l.again.ts_ns
), each as (
    select client_instance_id, client_id, client_ip, software_name, topic, partition, request_id, ts_ns, error_name,
        again, n_records, count(*) as n_before, min(other_base) as other_base, min(other_id) as other_id
    from overtaken
    group by client_instance_id, client_id, client_ip, software_name, topic, partition, request_id, ts_ns, error_name,
        again, n_records
)
select client_instance_id, client_id, client_ip, software_name, {sorted_set("concat(topic, '-', partition)")} as places,
    count(*) as n,
    min(ts_ns) as first_ns, max(again.ts_ns) as last_ns, {sorted_set("error_name")} as error_names,
    cast(sum(n_records) as bigint) as n_records,
    min_by(struct(concat(topic, '-', partition) as place, n_before, other_base, again.base as base), ts_ns) as example,
    slice(flatten(transform(array_sort(collect_list(struct(ts_ns, request_id, other_id, again.request_id as again_id))),
        e -> array(e.request_id, e.other_id, e.again_id))), 1, 100) as evidence,
    collect_set(again.conn_id) as conn_ids
from each
group by client_instance_id, client_id, client_ip, software_name"""


def _some_are_overtaken(tables: Tables) -> bool:
    """Whether a client sent another batch for a topic-partition between a batch that was refused and the same batch
    again."""
    refused = set(rows_of(tables["refusals"], "request_id", "topic", "partition"))
    sent = with_client(tables["without_id"], tables["owners"])
    ids = tables["refusals"]["request_id"].combine_chunks()
    places = sent.filter(pc.is_in(sent["request_id"], ids)).select(_PLACE)
    sent = sent.join(places, _PLACE, join_type="left semi", use_threads=False)
    names = (*_PLACE, "ts_ns", "request_id", *_SENT[-3:])
    rows = sorted(rows_of(sent, *names), key=itemgetter(0, 1, 2, 3))
    return any(
        _is_overtaken([((row[4], topic, partition) in refused, row[5:]) for row in batches])
        for (_, topic, partition), batches in groupby(rows, itemgetter(0, 1, 2))
    )


def _is_overtaken(batches: list[tuple[bool, tuple[int | None, ...]]]) -> bool:
    """batches: whether each was refused, and its create times and number of records, in the order of sending."""
    places: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
    refused: dict[tuple[int | None, ...], int] = {}
    for place, (is_refused, batch) in enumerate(batches):
        places[batch].append(place)
        if is_refused:
            refused.setdefault(batch, place)
    return any(
        sum(first <= place for place in places[batch]) < places[batch][-1] - first + 1
        for batch, first in refused.items()
    )


def _sentence(f: Facts) -> str:
    one = f.example
    return (
        f"{client(f.client_id, f.client_ip)} wrote batches to {listed(f.places)} in another order than it sent them, "
        f"{times(f.n)} from {f.begin(f.first_ns)} to {f.at(f.last_ns)}: batches that were refused "
        f"({listed(f.error_names)}) were sent again after later ones had been written, the first at offset "
        f"{one['base']} of {one['place']} behind {counted(one['n_before'], 'batch', 'batches')} from offset "
        f"{one['other_base']} on that {'was' if one['n_before'] == 1 else 'were'} sent after it"
    )


def _advice(f: Facts) -> str:
    in_flight = setting("in_flight", f.libraries)
    alone = "" if in_flight is None else f" Or let it have one request in flight ({in_flight}), which is slower."
    return (
        "Let the producer be idempotent (enable.idempotence in Java and librdkafka): brokers then accept the batches "
        f"of a topic-partition only in the order in which they were sent.{alone} Nothing was lost. See whether "
        f"consumers depend on the order: {counted(f.n_records, 'record')} came late."
    )


RULE = Rule(
    name="written_out_of_order",
    title="Batches were written in another order than they were sent",
    severity="info",
    meaning="A producer that is not idempotent, and has several requests in flight, goes on when one of them is "
    "refused: the refused batch comes again behind later ones. Updates of one key may then be applied in the wrong "
    "order, and no error shows it.",
    looks_at="Batches without a producer id that a broker refused, the same batch (create times and number of "
    "records) sent again after that and accepted, and batches of the same client and topic-partition that were sent "
    "between the two attempts and got a lower offset.",
    advice="Let the producer be idempotent (enable.idempotence=true, the default in Java since 3.0), or have one "
    "request in flight (max.in.flight.requests.per.connection=1).",
    sources=("KIP-98", "KIP-679", "https://github.com/IBM/sarama/issues/2619"),
    detectors=(
        Detector(
            reads={
                "refusals": Where(ERRORS, api_key=api_keys.PRODUCE, topic=NOT_NULL, partition=NOT_NULL),
                "without_id": Where(
                    PARTITIONS, api_key=api_keys.PRODUCE, direction="request", n_records=above(0), producer_id=None
                ),
                "owners": Where(CLIENTS, conn_ids=longer_than(0)),
            },
            candidates=Candidates(
                {"refusals": ("request_id",)},
                lambda tables: tables["refusals"].num_rows > 0,
                then=Candidates(
                    {
                        "refusals": ("request_id", "topic", "partition"),
                        "without_id": _SENT,
                        "owners": ("client_instance_id", "conn_ids"),
                    },
                    _some_are_overtaken,
                ),
            ),
            query=_QUERY,
            subject=lambda f: listed(f.places),
            sentence=_sentence,
            advice=_advice,
        ),
    ),
    follows=Follows(kinds=names_of(lambda _: True)),
)
