"""What the story job does, in three stages: which machine follows which key, and what becomes of the rows it gives.

1. The machines over the clients of an address (clients.machine) give rows of tables, and rows for a key that several
   clients share: a group, a transactional id, a service.
2. The machines of FOLLOWERS take these rows, and the events of their key.
3. From the rows of FOR_INCIDENTS, whichever stage gives them, the incidents are made (incidents.machine), which adds
   their incident to those that are of a table. All other rows are written as they are.

A machine over a new kind of key is its file, and one line here.
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
from kafkascope_spark.stories.incidents.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.listener_use import ListenerUse
from kafkascope_spark.stories.incidents.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.silent_client import SilentClient
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
"""Key kinds of what goes on to the incidents: recoveries, whose causes are looked for among those of all clients; and
everything else."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a machine may know beside its events. capture_ns: first and last packet of the capture; limits: which waits
    are stalls; failed_parts: takes what fails."""

    capture_ns: tuple[int, int]
    limits: StallLimits
    failed_parts: FailedParts

    @property
    def covered(self) -> tuple[tuple[int, int], ...]:
        """Begin and end of each time that the capture's files cover, in order."""
        return tuple(self.limits.uncovered.covered(self.capture_ns))


class Unchanged:
    """Gives each row as it takes it."""

    def take(self, row: Made, origin: Origin) -> Iterator[Made]:
        """The row."""
        yield row

    def finish(self) -> Iterator[Made]:
        """Nothing."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Follower:
    """The machines over a kind of key. what: what a key is, as a failure of its machine is reported; begin: makes the
    machine of a key."""

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
    """Rows of a class that the incidents are made from. ts_ns, identity: what they are sorted by; which: those of the
    class, the others are written; key_kind: that of the machine which follows such rows of all clients."""

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
"""In the order in which they are needed: clients come after everything that may name them."""
_ORDER = {each.row: order for order, each in enumerate(FOR_INCIDENTS)}


class IncidentPlace(NamedTuple):
    """The place of a row among those that the incidents are made from."""

    order: int
    ts_ns: int
    identity: str


def is_written(row: Made | PassedOn) -> TypeGuard[StoryRow]:
    """Whether a row is written as it is; all others go on."""
    order = _ORDER.get(type(row))
    return isinstance(row, StoryRow) and (order is None or not FOR_INCIDENTS[order].which(row))


def incident_place(row: Made) -> IncidentPlace:
    """The place of a row that goes on to the incidents. Raises KeyError where its class is not one of
    FOR_INCIDENTS."""
    order = _ORDER[type(row)]
    return IncidentPlace(order, FOR_INCIDENTS[order].ts_ns(row), FOR_INCIDENTS[order].identity(row))


def passed_on(row: Made | PassedOn) -> PassedOn:
    """A row of a client's machines as it goes on to the machines over keys. Raises KeyError as incident_place does."""
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
        """What events of a key end."""
        return self._keyed[key_kind].feed(key, events)

    def finish(self) -> Iterator[Made]:
        """What is left of the last key of each kind."""
        for keyed in self._keyed.values():
            yield from keyed.finish()
