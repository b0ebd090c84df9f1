"""The stages of the story job: which machine follows which key, and where its rows go.

1. The machines over the clients of an address (clients.machine) give rows of tables, and rows for a key that several
   clients share: a group, a transactional id, a service.
2. The machines of FOLLOWERS take these rows, and the events of their key.
3. The incidents are made from the rows of FOR_INCIDENTS of both stages (incidents.machine). Rows that belong to a table
   get the id of their incident. All other rows are written as they are.

A machine over a new kind of key needs its own file and one line here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeGuard, TypeVar

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.stories.flow.machine import Partition
from kafkascope_spark.stories.groups.stories import Group
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.signals.listener_use import ListenerUse
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.keyed import Keyed, KeyMachine, Origin
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.recoveries.machine import RecoveryCauses
from kafkascope_spark.stories.servers.machine import Server
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stage_rows import PassedOn, StageRow
from kafkascope_spark.stories.stalls.clients import GROUP, SERVICE
from kafkascope_spark.stories.stalls.machine import ClientService
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.startups.table import NOT_READY, StartupRow
from kafkascope_spark.stories.transactions.machine import TRANSACTION, Transactions
from kafkascope_spark.stories.transactions.table import TransactionRow

R = TypeVar("R")
Made = StoryRow | StageRow | ZooKeeperSession
"""A row that a machine gives."""
RECOVERY, INCIDENT = "recovery", "incident"
"""Key kinds of rows that go to the incident stage: recoveries, whose causes are looked for among all clients; and all
other rows."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts that machines need besides their events. capture_ns: first and last packet of the capture; limits: which
    waits are stalls; failed_parts: collects parts that raise an error."""

    capture_ns: tuple[int, int]
    limits: StallLimits
    failed_parts: FailedParts

    @property
    def covered(self) -> tuple[tuple[int, int], ...]:
        """Begin and end of each time that the files of the capture cover, in order."""
        return tuple(self.limits.uncovered.covered(self.capture_ns))


class Unchanged:
    """Machine that returns each row unchanged."""

    def take(self, row: Made, origin: Origin) -> Iterator[Made]:
        """Yields the row."""
        yield row

    def finish(self) -> Iterator[Made]:
        """Yields nothing."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Follower:
    """The machines over one kind of key. what: name of the kind in reports of failed parts; begin: makes the machine of
    a key."""

    key_kind: str
    what: str
    begin: Callable[[Surroundings, str], KeyMachine[Any, Made]]


FOLLOWERS = (
    Follower(GROUP, "group", lambda around, group_id: Group(group_id, around.limits)),
    Follower(TRANSACTION, "transactional id", lambda around, name: Transactions(name, around.capture_ns[1])),
    Follower(SERVICE, "stalls of client", lambda around, _: ClientService(around.limits)),
    Follower("server", "broker states of", lambda around, _: Server(around.covered)),
    Follower("flow", "flow of topic-partition", lambda _, __: Partition()),
    Follower(RECOVERY, "causes of recoveries", lambda around, _: RecoveryCauses(around.failed_parts)),
    Follower(INCIDENT, "row for incidents", lambda _, __: Unchanged()),
)


def _every(row: object) -> bool:
    return True


@dataclass(frozen=True)
class ForIncidents(Generic[R]):
    """A class of rows from which incidents are made. ts_ns, identity: return the sort key of a row; which: returns
    whether a row goes to the incidents; others are written; key_kind: kind of the machine that follows these rows of
    all clients."""

    row: type[R]
    ts_ns: Callable[[R], int]
    identity: Callable[[R], str]
    which: Callable[[R], bool] = _every
    key_kind: str = INCIDENT


FOR_INCIDENTS: tuple[ForIncidents[Any], ...] = (
    ForIncidents[BrokerState](BrokerState, lambda row: row.from_ns, lambda row: f"{row.server} {row.host}"),
    ForIncidents[ClientRecovery](
        ClientRecovery, lambda row: row.affected_ns, lambda row: row.recovery_id, key_kind=RECOVERY
    ),
    ForIncidents[RebalanceRow](RebalanceRow, lambda row: row.start_ns or 0, lambda row: row.rebalance_id),
    ForIncidents[Stall](Stall, lambda row: row.from_ns, lambda row: row.stall_id),
    ForIncidents[ZooKeeperSession](ZooKeeperSession, lambda row: row.first_ns, lambda row: row.conn_ids[0]),
    ForIncidents[SilentClient](SilentClient, lambda row: row.from_ns, lambda row: row.client_instance_id),
    ForIncidents[ListenerUse](ListenerUse, lambda row: row.first_ns, lambda row: row.use_id),
    ForIncidents[FetchedAgain](
        FetchedAgain, lambda row: row.from_ns, lambda row: f"{row.topic}-{row.partition} {row.reader}"
    ),
    ForIncidents[LookupRun](LookupRun, lambda row: row.first_ns, lambda row: f"{row.client_ip} {row.server_ip}"),
    ForIncidents[StartupRow](
        StartupRow, lambda row: row.start_ns, lambda row: row.startup_id, lambda row: row.outcome in NOT_READY
    ),
    ForIncidents[TransactionRow](
        TransactionRow,
        lambda row: row.begin_ns or 0,
        lambda row: f"{row.transactional_id}:{row.transaction_no}",
        lambda row: not row.went_well,
    ),
    ForIncidents[AffectedClient](AffectedClient, lambda _: 0, lambda row: row.client_instance_id),
)
"""The classes in the order in which the incidents take them: clients come after all rows that may name them."""
_ORDER = {each.row: order for order, each in enumerate(FOR_INCIDENTS)}


class IncidentPlace(NamedTuple):
    """The sort key of a row among those from which the incidents are made."""

    order: int
    ts_ns: int
    identity: str


def is_written(row: Made | PassedOn) -> TypeGuard[StoryRow]:
    """Whether a row is written as it is; all other rows go to the next stage."""
    order = _ORDER.get(type(row))
    return isinstance(row, StoryRow) and (order is None or not FOR_INCIDENTS[order].which(row))


def incident_place(row: Made) -> IncidentPlace:
    """Returns the sort key of a row that goes to the incidents. Raises KeyError if its class is not in
    FOR_INCIDENTS."""
    order = _ORDER[type(row)]
    return IncidentPlace(order, FOR_INCIDENTS[order].ts_ns(row), FOR_INCIDENTS[order].identity(row))


def passed_on(row: Made | PassedOn) -> PassedOn:
    """Returns a row of a client's machines in the form in which it goes to the machines over keys. Raises KeyError like
    incident_place."""
    if isinstance(row, PassedOn):
        return row
    order, ts_ns, identity = incident_place(row)
    key_kind = FOR_INCIDENTS[order].key_kind
    return PassedOn(key_kind, identity if key_kind == INCIDENT else "", row, identity, ts_ns)


class Followers:
    """The machines over the keys of one cluster."""

    def __init__(self, around: Surroundings) -> None:
        self._keyed: dict[str, Keyed[Any, Made]] = {
            each.key_kind: Keyed(each.what, partial(each.begin, around), around.failed_parts) for each in FOLLOWERS
        }

    def feed(self, key_kind: str, key: str, events: Iterable[tuple[Origin, Any]]) -> Iterator[Made]:
        """Feeds events of a key to its machine. Yields the rows that these events complete."""
        return self._keyed[key_kind].feed(key, events)

    def finish(self) -> Iterator[Made]:
        """Yields the remaining rows of the last key of each kind."""
        for keyed in self._keyed.values():
            yield from keyed.finish()
