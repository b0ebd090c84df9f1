"""Members that their group removed: they were silent until the session timed out, and not seen since."""

from kafkascope_parsers.error_facts import MEMBER_REMOVED
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, fact
from kafkascope_spark.stories.findings.sql import literals
from kafkascope_spark.stories.findings.wording import client, duration
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.tables import REBALANCES

# One finding per client and group. Members that came back were refused; another detector reports them.
_QUERY = f"""
with returned as (
    select client_instance_id, group_id from errors join connection_clients using (conn_id)
    where error_name in {literals(MEMBER_REMOVED)}
), departures as (
    select group_id, node_id, start_ns, evidence as proof, inline(departed) from evictions
), missing as (
    select client_instance_id, group_id, count(*) as n, min(start_ns) as first_ns, max(start_ns) as last_ns,
        collect_set(node_id) as node_ids, min(last_seen_ns) as since_ns,
        min(struct(start_ns, silent_ms, session_timeout_ms, last_seen_ns, proof)) as first
    from departures left anti join returned using (client_instance_id, group_id)
    where how = 'evicted' and client_instance_id is not null
    group by client_instance_id, group_id
)
select m.client_instance_id, m.group_id, n, m.first_ns, m.last_ns, client_id, client_ip, conn_ids,
    end_state as client_end, node_ids, since_ns, first.silent_ms, first.session_timeout_ms, first.last_seen_ns,
    if(size(first.proof) > 0, first.proof, array_sort(conn_ids)) as evidence
from missing m join clients c on m.client_instance_id = c.client_instance_id"""


def _sentence(f: Facts) -> str:
    timeout = "" if f.session_timeout_ms is None else f", its session timeout is {f.session_timeout_ms} ms"
    died = "; it ended without leaving" if f.client_end == "died" else ""
    return (
        f"Group {f.group_id} continued without {client(f.client_id, f.client_ip)} at {f.begin(f.first_ns)}: it sent "
        f"nothing since {f.at(f.last_seen_ns)}, for {duration(f.silent_ms * 1_000_000)}{timeout}{died}"
    )


def _advice(f: Facts) -> str:
    now = "" if f.session_timeout_ms is None else f" (now {f.session_timeout_ms})"
    return (
        "Find out why the member ended or was silent; let it close its consumer when it is stopped (on SIGTERM, too), "
        f"so that the group does not wait. {setting('session_timeout', f.libraries)}{now} is how long its partitions "
        "stay unread."
    )


MISSING_MEMBERS = Detector(
    reads={"evictions": Where(REBALANCES, trigger="member_evicted")},
    query=_QUERY,
    subject=fact("group_id"),
    sentence=_sentence,
    advice=_advice,
)
