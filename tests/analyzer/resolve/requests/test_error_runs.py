"""Runs of requests that fail alike, on a connection of a real producer that kept writing to the wrong broker."""

from pathlib import Path

import pytest

from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.resolve.requests import error_runs

CAPTURE = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces" / "wrong_leader.pcapng.zst"
COVERED = r"""
with numbered as (
    select e.*, r.ts_ns as sent_ns, cast(regexp_extract(request_id, '-(\d+)$', 1) as bigint) as number
    from errors e join requests r using (request_id)
),
runs as (
    select conn_id, ts_ns, packet_no, error_run as u, request, kind,
        cast(regexp_extract(error_run.request_id, '-(\d+)$', 1) as bigint) as first,
        cast(regexp_extract(error_run.last_request_id, '-(\d+)$', 1) as bigint) as last
    from events where kind = 'error_run'
)
"""
SUMMED = (
    COVERED
    + """
select u.request_id, u.error_name, u.topic, u.partition, u.n, u.last_ns, u.last_sent_ns, u.waited_us, r.ts_ns,
    r.packet_no, count(*), max(e.ts_ns), max(e.sent_ns), sum((e.ts_ns - e.sent_ns) // 1000), min(e.ts_ns),
    arg_min(e.packet_no, e.ts_ns)
from runs r join numbered e on e.conn_id = r.conn_id and e.number between r.first and r.last
    and e.error_name = u.error_name and e.topic is not distinct from u.topic
    and e.partition is not distinct from u.partition and e.resource = u.resource
group by all
"""
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """The capture has runs of some hundred requests."""
    out = tmp_path_factory.mktemp("runs") / "d.kscope"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_runs, "EDGE", 32)
        patch.setattr(error_runs, "LEAST", 3 * 32)
        ingest([CAPTURE], out, IngestOptions(jobs=1))
    return out


def test_a_run_becomes_its_ends_and_one_event(dataset, queries):
    tables = queries.connected(dataset)
    (errors,) = tables.sql("select count(*) from errors").fetchall()[0]
    (events,) = tables.sql("select count(*) from events where kind = 'error_run'").fetchall()[0]
    runs = tables.sql("select error_run.n from events where error_run.n > 1").fetchall()
    assert runs
    assert events == errors - sum(n - 1 for (n,) in runs)
    assert all(n > 32 for (n,) in runs), "shorter ones are events one by one"


def test_the_hint_that_all_answers_give_is_the_runs(dataset, queries):
    """KIP-951: what the partitions of the answers between first and last say."""
    hints = """
        select u.leader_id, min(coalesce(p.leader_id, p.current_leader_id)),
            max(coalesce(p.leader_id, p.current_leader_id))
        from runs r join partitions p on p.conn_id = r.conn_id and p.direction = 'response' and p.error_code <> 0
            and cast(regexp_extract(p.request_id, '-(\\d+)$', 1) as bigint) between r.first and r.last
        where u.n > 1 group by all
    """
    for leader_id, least, largest in queries.connected(dataset).sql(COVERED + hints).fetchall():
        assert leader_id == (least if least == largest else None)


def test_every_error_is_in_one_event(dataset, queries):
    tables = queries.connected(dataset)
    (errors,) = tables.sql("select count(*) from errors").fetchall()[0]
    assert tables.sql("select sum(error_run.n) from events").fetchall() == [(errors,)]


def test_an_event_adds_up_the_errors_of_its_run(dataset, queries):
    found = queries.connected(dataset).sql(SUMMED).fetchall()
    assert found
    for row in found:
        n, last_ns, last_sent_ns, waited_us, first_ns, packet_no = row[4:10]
        assert (n, last_ns, last_sent_ns, waited_us, first_ns, packet_no) == row[10:], row


def test_the_middle_has_no_other_event_and_names_its_first_request(dataset, queries):
    tables = queries.connected(dataset)
    inside = r"""
        select o.kind from runs r, events o
        where u.n > 1 and o.conn_id = r.conn_id and o.kind in ('request', 'partition')
            and cast(regexp_extract(coalesce(o.request.request_id, o.partition.request_id), '-(\d+)$', 1) as bigint)
                between r.first and r.last
    """
    assert tables.sql(COVERED + inside).fetchall() == []
    named = "select u.request_id, request.request_id from runs where u.n > 1"
    assert all(first == request for first, request in tables.sql(COVERED + named).fetchall())
    assert tables.sql(COVERED + "select 1 from runs where (u.n > 1) = (request is null)").fetchall() == []
