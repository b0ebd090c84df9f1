"""`member_id_ignored`: a client does not join with the member id that the coordinator gives it."""

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, count
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids
from kafkascope_spark.stories.findings.wording import client, duration, times

NEEDED = "MEMBER_ID_REQUIRED"
# One finding per client and group.
_QUERY = f"""
with each as (
    select o.client_instance_id, o.client_id, o.client_ip, e.group_id, count(*) as n, min(e.ts_ns) as first_ns,
        max(e.ts_ns) as last_ns, {first_ids("e.request_id", "e.ts_ns")} as evidence, collect_set(e.conn_id) as conn_ids
    from errors e left semi join asked using (group_id, client_ip) join connection_clients o on e.conn_id = o.conn_id
    where e.error_name = '{NEEDED}'
    group by o.client_instance_id, o.client_id, o.client_ip, e.group_id
    having n >= {limit.MEMBER_IDS}
), joined as (
    select distinct o.client_instance_id, r.group_id
    from requests r join connection_clients o on r.conn_id = o.conn_id
    where r.api_key = {api_keys.JOIN_GROUP} and r.error_code = 0 and exists (select 1 from each)
)
select each.* from each left anti join joined using (client_instance_id, group_id)"""


def _sentence(f: Facts) -> str:
    return (
        f"{client(f.client_id, f.client_ip)} never joined group {f.group_id}: the coordinator gave it a member id "
        f"and asked it to join with that ({NEEDED}) {times(f.n)} within {duration(f.last_ns - f.first_ns)} from "
        f"{f.begin(f.first_ns)}, and it sent JoinGroup without one again"
    )


RULE = Rule(
    name="member_id_ignored",
    title="A client does not take the member id that it is given",
    severity="error",
    meaning=(
        "A coordinator answers the first JoinGroup of a new member with MEMBER_ID_REQUIRED and an id, which is no "
        "failure. A client that takes it for one, and begins again without that id, never joins its group, and "
        "reads nothing."
    ),
    looks_at=f"JoinGroup with {NEEDED}, {limit.MEMBER_IDS} times or more for a client and a group, where no JoinGroup "
    "of the client for that group succeeded.",
    advice=(
        "The brokers are not the cause, and no setting is missing: since JoinGroup version 4 (KIP-394) a new member "
        "gets its id with an error, and has to send JoinGroup again with it. Update the client's library, or report "
        "that to its maintainers; with group.instance.id (a static member) the coordinator asks for no second "
        "request."
    ),
    sources=("KIP-394", "org.apache.kafka.common.errors.MemberIdRequiredException"),
    detectors=(
        Detector(
            reads={
                "asked": Groups(
                    Where(ERRORS, error_name=NEEDED, api_name="JoinGroup", group_id=NOT_NULL),
                    per=("group_id", "client_ip"),
                    having=count() >= limit.MEMBER_IDS,
                )
            },
            query=_QUERY,
            subject=fact("group_id"),
            sentence=_sentence,
        ),
    ),
)
