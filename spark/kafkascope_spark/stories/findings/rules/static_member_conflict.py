"""`static_member_conflict`: two running consumers share one group.instance.id."""

from collections.abc import Collection

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_parsers.error_facts import FENCED_INSTANCE
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Follows, Rule
from kafkascope_spark.stories.findings.shared_queries import NO_BROKER
from kafkascope_spark.stories.findings.sql import SEEN, sorted_set
from kafkascope_spark.stories.findings.wording import client, listed, times
from kafkascope_spark.stories.settings import setting

# One finding per refused client. A rival must be running when the other is refused: a consumer that ended before is no
# conflict. A member that died keeps its group.instance.id until its session times out (KIP-848): then there is no
# rival.
_QUERY = f"""
with refused as (
    select client_instance_id, client_id, client_ip, group_id, {SEEN}, {sorted_set("error_name")} as names
    from refusals left join (select conn_id, client_instance_id, kind from connection_clients) using (conn_id)
    where {NO_BROKER}
    group by client_instance_id, client_id, client_ip, group_id
), static_members as (
    select client_instance_id, client_id, client_ip, group_id, group_instance_id, first_ns, last_ns
    from clients where group_instance_id is not null
)
select r.client_instance_id, r.client_id, r.client_ip, r.group_id, mine.group_instance_id, names, n, r.first_ns,
    r.last_ns, evidence, conn_ids, collect_set(if(other.client_instance_id != r.client_instance_id
        and other.first_ns <= r.last_ns and other.last_ns >= r.first_ns,
        struct(other.client_id, other.client_ip), null)) as rivals,
    if(names = array('UNRELEASED_INSTANCE_ID') and count_if(other.client_instance_id != r.client_instance_id
        and other.first_ns <= r.last_ns and other.last_ns >= r.first_ns) = 0, 'warning', 'error') as severity
from refused r left join static_members mine on r.client_instance_id = mine.client_instance_id
left join static_members other
    on other.group_id = r.group_id and other.group_instance_id = mine.group_instance_id
group by all"""


def _sentence(f: Facts) -> str:
    name, instance, group = client(f.client_id, f.client_ip), _instance(f), f.group_id or "?"
    refused = f" was refused {times(f.n)} ({', '.join(f.names)}), first at {f.begin(f.first_ns)}"
    if f.severity == "warning":
        return f"{name}{refused}: {instance} in group {group} is still held by a member that sends nothing"
    rivals = sorted({client(rival["client_id"], rival["client_ip"]) for rival in f.rivals})
    other = listed(rivals) if rivals else "another consumer, which the capture does not show,"
    return f"{name} and {other} both use {instance} in group {group}: {name}{refused}"


def _instance(f: Facts) -> str:
    return f"static member id {f.group_instance_id}" if f.group_instance_id is not None else "its static member id"


def _subject(f: Facts) -> str | None:
    subject: str | None = f.group_id if f.group_instance_id is None else f.group_instance_id
    return subject


def _advice(libraries: Collection[str]) -> str:
    return (
        f"Give each consumer of the group a static member id of its own ({setting('instance_id', libraries)}; the "
        "pod's or host's name, not a constant); make sure that the old process has ended before its successor starts."
    )


_RELEASE = (
    "Where this process takes the place of another: let the old one leave when it stops (close()), or start the new "
    "one when the session of the old one is over. Where it was killed, the id is free after the session timeout."
)
DETECTOR = Detector(
    reads={"refusals": Where(ERRORS, error_name=tuple(sorted(FENCED_INSTANCE)))},
    query=_QUERY,
    subject=_subject,
    sentence=_sentence,
    advice=lambda f: _RELEASE if f.severity == "warning" else _advice(f.libraries),
)
RULE = Rule(
    name="static_member_conflict",
    title="Two consumers share one static member id",
    severity="error",
    meaning="A static member is known by its id (the protocol's group instance id). When a second consumer joins with "
    "the same one, the coordinator gives it the place of the first, and fences the first one for good (classic "
    "groups); or it refuses the second until the first has left (KIP-848).",
    looks_at="FENCED_INSTANCE_ID and UNRELEASED_INSTANCE_ID; the other consumer is the one that used the same "
    "static member id in the group at that time.",
    advice=f"{_advice(())} {_RELEASE}",
    sources=("KIP-345", "KIP-848", "org.apache.kafka.common.errors.FencedInstanceIdException"),
    detectors=(DETECTOR,),
    follows=Follows(kinds=frozenset({"member", "member_fenced"}), same=frozenset({"member_fenced"})),
)
