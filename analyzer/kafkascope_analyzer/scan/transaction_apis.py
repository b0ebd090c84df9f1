"""APIs and versions of transactions, and the partitions in their messages."""

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_parsers.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    TXN_OFFSET_COMMIT,
)

COORDINATOR_APIS = (INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT)
"""Requests of a producer to its transaction coordinator, and to the group coordinator on behalf of the transaction."""
BOUND_APIS = (INIT_PRODUCER_ID, END_TXN)
"""Requests between which Produce requests are aggregated: they begin and end transactions."""
LEADERS_VERSION = 4
"""AddPartitionsToTxn from this version on is sent by leaders of partitions, not by producers (KIP-890)."""
V2_PRODUCE, V2_OFFSET_COMMIT, V2_END = 12, 5, 5
"""Versions of Produce, TxnOffsetCommit and EndTxn that are sent only with transaction.version 2 (KIP-890)."""


def is_coordinator_request(requests: pa.Table) -> pa.ChunkedArray:
    """Whether each request is one of a producer's COORDINATOR_APIS. requests: with api_key, api_version and
    transactional_id."""
    of_leaders = pc.and_(
        pc.equal(requests["api_key"], ADD_PARTITIONS_TO_TXN),
        pc.greater_equal(requests["api_version"], LEADERS_VERSION),
    )
    asks = pc.is_in(requests["api_key"], pa.array(COORDINATOR_APIS, pa.int16()))
    chosen = pc.and_(pc.is_valid(requests["transactional_id"]), pc.and_not(asks, of_leaders))
    return pc.fill_null(chosen, False)


def partition_texts(topics: pa.Array, partitions: pa.Array) -> pa.Array:
    """Returns `topic-partition` from topics and partitions of equal length; `?` for a topic whose name is not known,
    null for a partition whose number is not."""
    return pc.binary_join_element_wise(pc.fill_null(topics, "?"), pc.cast(partitions, pa.string()), "-")


def named_partitions(topics: pa.ListArray, without_topic: str | None = None) -> pa.ListArray:
    """Returns `topic-partition` of each partition in lists of topics (list<struct<name, partitions: list<int32>>>);
    null for a null list. without_topic: a topic that is left out."""
    of_topic, names, numbers = partitions_of_topics(topics)
    of_row = pc.list_parent_indices(topics).take(of_topic)
    texts = partition_texts(names.take(of_topic), numbers)
    if without_topic is not None:
        kept = pc.not_equal(names.take(of_topic), without_topic)
        of_row, texts = of_row.filter(kept), texts.filter(kept)
    return grouped(texts, of_row, topics.is_valid())


def partitions_of_topics(topics: pa.ListArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Returns the partitions in lists of topics: the topic of each partition, the name of each topic, the elements of
    `partitions`."""
    flat = pc.list_flatten(topics)
    lists = pc.struct_field(flat, "partitions")
    return pc.list_parent_indices(lists), pc.struct_field(flat, "name"), pc.list_flatten(lists)


def grouped(values: pa.Array, of_row: pa.Array, is_valid: pa.Array) -> pa.ListArray:
    """Returns one list per row. of_row: the row of each value, ascending; is_valid: which rows have a list at all."""
    rows = of_row.to_numpy()
    starts = rows.searchsorted(range(len(is_valid) + 1)).astype("int32")
    mask = pc.invert(is_valid)
    return pa.ListArray.from_arrays(pa.array(starts), values, mask=mask)
