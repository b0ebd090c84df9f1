"""`short_lived_clients`: a program makes a new client for every few requests, or a new member of a group."""

from kafkascope_spark.stories.findings import thresholds as limit
from kafkascope_spark.stories.findings.conditions import NOT_NULL, column, count, none_of
from kafkascope_spark.stories.findings.read import Groups, Where
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule, fact
from kafkascope_spark.stories.findings.sql import first_ids, sorted_set
from kafkascope_spark.stories.findings.wording import client, counted, duration
from kafkascope_spark.stories.tables import CLIENTS

_SHORT_NS, _APART_NS = limit.SHORT_LIFE_MS * 1_000_000, limit.SHORT_LIVED_APART_MS * 1_000_000
_PROGRAM = "client_ip, client_id, kind, software_name"
# One finding per address, client id, kind and library.
_QUERY = f"""
with misread as (
    select distinct conn_id from undecoded where direction = 'response' and reason = 'malformed_body'
), programs as (
    select {_PROGRAM}, count(*) as n, sum(size(conn_ids)) as n_connections, sum(n_requests) as n_requests,
        min(first_ns) as first_ns, max(first_ns) as last_ns, percentile(last_ns - first_ns, 0.5) as middle_ns,
        min_by(struct(client_instance_id, conn_ids), struct(first_ns, client_instance_id)) as first
    from short_lived s left anti join misread m on array_contains(s.conn_ids, m.conn_id)
    where kind = 'consumer' or coalesce(n_errors, 0) = 0
    group by {_PROGRAM}
    having count(*) >= {limit.SHORT_LIVED} and max(first_ns) - min(first_ns) <= count(*) * {_APART_NS}L
), samples as (
    select *, explode(first.conn_ids) as conn_id from programs
)
select first.client_instance_id, {_PROGRAM}, n, n_connections, n_requests, first_ns, last_ns,
    cast(middle_ns as bigint) as middle_ns, {first_ids("r.request_id")} as evidence, first.conn_ids as conn_ids
from samples left join (select request_id, conn_id, ts_ns from requests) r using (conn_id)
group by first, {_PROGRAM}, n, n_connections, n_requests, first_ns, last_ns, middle_ns"""


# One finding per address and group: the others of the group rebalance with each new member, and when it leaves.
_MEMBERS_QUERY = f"""
with members as (
    select client_ip, group_id, count(*) as n, min(first_ns) as first_ns, max(first_ns) as last_ns,
        percentile(last_ns - first_ns, 0.5) as middle_ns, {sorted_set("software_name")} as software_names,
        min_by(struct(client_instance_id, client_id), struct(first_ns, client_instance_id)) as first,
        {first_ids("conn_ids[0]", "first_ns")} as conn_ids
    from short_members group by client_ip, group_id
    having count(*) >= {limit.SHORT_MEMBERS}
        and max(first_ns) - min(first_ns) <= count(*) * {limit.SHORT_MEMBERS_APART_MS * 1_000_000}L
), others as (
    select m.group_id, m.client_ip, count(*) as n_others
    from members m join clients c on c.group_id = m.group_id and c.first_ns <= m.first_ns and c.last_ns >= m.last_ns
    group by m.group_id, m.client_ip
)
select null as client_instance_id, m.client_ip, m.group_id, m.n, m.first_ns, m.last_ns, m.software_names, m.conn_ids,
    cast(m.middle_ns as bigint) as middle_ns, m.first.client_id as client_id, o.n_others,
    cast(array() as array<string>) as evidence
from members m join others o on o.group_id = m.group_id and o.client_ip = m.client_ip"""


def _members_sentence(f: Facts) -> str:
    return (
        f"{f.n} new members of group {f.group_id} came from {f.client_ip} in {duration(f.last_ns - f.first_ns)} from "
        f"{f.begin(f.first_ns)} on, the first as {f.client_id}, and left after {duration(f.middle_ns)} in the middle: "
        f"{counted(f.n_others, 'other member')} had to rebalance with each that came or left"
    )


_MEMBERS_ADVICE = (
    "Make one consumer when the program starts, and let it poll until the program ends: one that joins for each call "
    "or job stops all members of the group twice. Where the program only looks at records, let it assign partitions "
    "itself (assign()), or give it a group.id of its own."
)


def _sentence(f: Facts) -> str:
    what = (
        f"{client(f.client_id, f.client_ip)} ({f.kind}) was started {f.n} times in {duration(f.last_ns - f.first_ns)}"
    )
    cost = f"{counted(f.n_connections, 'connection')} for {counted(f.n_requests, 'request')}"
    return f"{what} from {f.begin(f.first_ns)} on, each time for {duration(f.middle_ns)} in the middle: {cost}"


_ADVICE = (
    "Make one client when the program starts, and use it until the program ends: producers and admin clients may be "
    "shared by threads, consumers poll in a loop. A probe of the brokers' health needs no client of its own: see "
    "whether a TCP connection does, or ask less often."
)
_SHORT_LIVED = Where(
    CLIENTS,
    column("last_ns") - column("first_ns") <= _SHORT_NS,
    kind=none_of("broker"),
    end_state=none_of("open"),
)
DETECTOR = Detector(
    reads={
        "short_lived": _SHORT_LIVED,
        "programs": Groups(_SHORT_LIVED, per=("client_ip", "client_id"), having=count() >= limit.SHORT_LIVED),
    },
    query=_QUERY,
    subject=fact("client_id"),
    sentence=_sentence,
    advice=lambda _: _ADVICE,
)
MEMBERS = Detector(
    reads={
        "short_members": _SHORT_LIVED.and_where(kind="consumer", group_id=NOT_NULL),
        "joining_hosts": Groups(
            _SHORT_LIVED.and_where(kind="consumer", group_id=NOT_NULL),
            per=("client_ip", "group_id"),
            having=count() >= limit.SHORT_MEMBERS,
        ),
    },
    query=_MEMBERS_QUERY,
    subject=fact("group_id"),
    sentence=_members_sentence,
    advice=lambda _: _MEMBERS_ADVICE,
)
RULE = Rule(
    name="short_lived_clients",
    title="A program makes a new client for every few requests",
    severity="warning",
    meaning="A client is made to be kept: it connects, authenticates, asks for versions and metadata, and a consumer "
    "finds its coordinator, before it does anything. A program that makes one for each call pays that each "
    "time, and so do the brokers: connections, TLS handshakes and logins cost them more than the work itself.",
    looks_at=f"At least {limit.SHORT_LIVED} clients of one address, client id, kind and library that ended within "
    f"{limit.SHORT_LIFE_MS // 1000} seconds of their begin, one every {limit.SHORT_LIVED_APART_MS // 1000} seconds or "
    "more often. Brokers are left out, and so are clients whose end has another cause: a response that does not "
    "decode, or an error that a client other than a consumer got. Also "
    f"{limit.SHORT_MEMBERS} such consumers or more of one address that join a group with other members, one every "
    f"{limit.SHORT_MEMBERS_APART_MS // 1000} seconds or more often.",
    advice=f"{_ADVICE} {_MEMBERS_ADVICE}",
    sources=("Kafka's documentation of KafkaProducer: it is thread safe and generally to be shared",),
    detectors=(DETECTOR, MEMBERS),
)
