"""Responses in another order than the requests, and requests that wait for the response before them."""

from pathlib import Path

import duckdb
import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"


def rows(dataset: Path, query: str) -> list[tuple]:
    database = duckdb.connect()
    for table in ("requests", "connections", "undecoded"):
        files = f"{dataset}/{table}/**/*.parquet"
        database.execute(f"create view {table} as from read_parquet('{files}', hive_partitioning = false)")
    return database.sql(query).fetchall()


def test_responses_out_of_order_are_those_of_their_requests(ingested) -> None:
    dataset = ingested(FIXTURES / "reported" / "responses_out_of_order.pcap.zst")
    late = [(3, True), (4, True), (5, True), (8, True), (9, True), (10, True)]
    found = rows(dataset, "select distinct correlation_id, out_of_order from requests where out_of_order order by 1")
    assert found == late
    assert rows(dataset, "select distinct status from requests") == [("ok",)]
    assert rows(dataset, "select count(*) from undecoded where reason = 'orphan_response'") == [(0,)]
    answered = rows(
        dataset,
        "select correlation_id, request_packet_no, response_packet_no from requests where api_name = 'Produce' "
        "order by ts_ns, correlation_id limit 5",
    )
    assert answered == [(2, 12, 22), (3, 14, 26), (4, 16, 30), (5, 18, 34), (6, 20, 24)]  # as tshark lists them


def test_a_commit_behind_a_long_poll_waits_for_that_and_not_for_the_broker(ingested) -> None:
    dataset = ingested(FIXTURES / "reported" / "commits_behind_fetch.pcap.zst")
    query = "select distinct latency_us, queued_us, broker_us from requests where api_name = '{}'"
    assert rows(dataset, query.format("OffsetCommit")) == [(496_200, 495_000, 1_200)]
    assert rows(dataset, query.format("Fetch")) == [(500_000, 0, 500_000)]


_BY_WINDOW = """
with known as (
    select r.*, split_part(request_id, '-', 2)::bigint as number from requests r semi join (
        from connections where coalesce(missing_bytes, 0) = 0 and opened_by = 'syn'
    ) using (conn_id) where response_ns is not null
), before as (
    select *, max(response_last_ns) over (
        partition by conn_id order by number rows between unbounded preceding and 1 preceding
    ) as before_ns from known
)
select count(*), count(*) filter (queued_us > 0), count(*) filter (
    broker_us <> (response_ns - greatest(request_last_ns, least(coalesce(before_ns, 0), response_ns))) // 1000
    or queued_us + broker_us <> latency_us or out_of_order
) from before
"""


@pytest.mark.parametrize("name", ["leader_move", "txn"])
def test_the_wait_is_that_for_the_last_byte_of_the_response_before(ingested, name: str) -> None:
    """Clients of several libraries, some of which send the next request before the last one is answered."""
    dataset = ingested(FIXTURES / "captures" / f"{name}.pcap.zst")
    ((n, n_queued, n_wrong),) = rows(dataset, _BY_WINDOW)
    assert n > 1_000
    assert n_queued >= 10
    assert n_wrong == 0
