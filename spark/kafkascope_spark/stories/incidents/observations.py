"""`Observations`: the rows from which incidents are made.

Memory: rows of stalls and failures and the clients that they name; never rows of what worked.
"""

from typing import assert_never

from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.incidents.clients.misconfigured import Listeners
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.signals.fetched_again import FetchedAgain
from kafkascope_spark.stories.incidents.signals.listener_use import ListenerUse
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.servers.table import BrokerState
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

Found = (
    AffectedClient
    | BrokerState
    | ClientRecovery
    | FetchedAgain
    | ListenerUse
    | LookupRun
    | RebalanceRow
    | SilentClient
    | Stall
    | StartupRow
    | TransactionRow
    | ZooKeeperSession
)
"""Rows from which incidents are made."""


class Observations:
    """Collects the rows, by what they are about."""

    def __init__(self) -> None:
        self.states: list[BrokerState] = []
        self.stalls: list[Stall] = []
        self.recoveries: list[ClientRecovery] = []
        self.rebalances: list[RebalanceRow] = []
        self.sessions: list[ZooKeeperSession] = []
        self.starts: list[StartupRow] = []
        self.silent: list[SilentClient] = []
        self.transactions: list[TransactionRow] = []
        self.listeners = Listeners()
        self.lookups: list[LookupRun] = []
        self.fetched_again: list[FetchedAgain] = []
        self.clients: dict[str, AffectedClient] = {}
        self._named: set[str] | None = None

    def take(self, row: Found) -> None:
        """Takes a row. Clients must come last: only those that stalled, failed or left are kept."""
        match row:
            case AffectedClient():
                self._take_client(row)
            case BrokerState():
                self.states.append(row)
            case ClientRecovery():
                self.recoveries.append(row)
            case FetchedAgain():
                self.fetched_again.append(row)
            case ListenerUse():
                self.listeners.take(row)
            case LookupRun():
                self.lookups.append(row)
            case RebalanceRow():
                self.rebalances.append(row)
            case SilentClient():
                self.silent.append(row)
            case Stall():
                self.stalls.append(row)
            case StartupRow():
                self.starts.append(row)
            case TransactionRow():
                self.transactions.append(row)
            case ZooKeeperSession():
                self.sessions.append(row)
            case _:
                assert_never(row)

    def _take_client(self, client: AffectedClient) -> None:
        if self._named is None:
            self._named = self._named_clients()
        if client.client_instance_id in self._named or client.died_ns is not None:
            self.clients[client.client_instance_id] = client

    def _named_clients(self) -> set[str]:
        named = {member.client_instance_id for row in self.rebalances for member in row.departed}
        named |= {stall.client_instance_id for stall in self.stalls}
        named |= {silent.client_instance_id for silent in self.silent}
        named |= {start.client_instance_id for start in self.starts}
        named |= {transaction.client_instance_id for transaction in self.transactions}
        named |= {reader.client_instance_id for row in self.transactions for reader in row.held_back}
        named |= {recovery.client_instance_id for recovery in self.recoveries}
        return self.listeners.client_ids() | {client for client in named if client is not None}
