"""The tables that Spark writes under `stories/`."""

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories.broker_restarts import BROKER_RESTARTS
from kafkascope_analyzer.dataset.stories.broker_states import BROKER_STATES
from kafkascope_analyzer.dataset.stories.cadences import CADENCE_NAMES, CADENCES
from kafkascope_analyzer.dataset.stories.client import (
    CLIENT_TABLES,
)
from kafkascope_analyzer.dataset.stories.clients import CLIENT_KINDS, CLIENTS
from kafkascope_analyzer.dataset.stories.findings import FINDINGS
from kafkascope_analyzer.dataset.stories.incidents import INCIDENTS
from kafkascope_analyzer.dataset.stories.partition_flow import PARTITION_FLOW
from kafkascope_analyzer.dataset.stories.rebalances import REBALANCES
from kafkascope_analyzer.dataset.stories.recoveries import RECOVERIES
from kafkascope_analyzer.dataset.stories.recovery_steps import RECOVERY_STEP_ROWS, RECOVERY_STEPS
from kafkascope_analyzer.dataset.stories.stalls import STALLS
from kafkascope_analyzer.dataset.stories.startups import STARTUP_STEP_ROWS, STARTUP_STEPS, STARTUPS
from kafkascope_analyzer.dataset.stories.transactions import TRANSACTIONS

STORY_TABLES: tuple[Table, ...] = (
    *CLIENT_TABLES,
    REBALANCES,
    TRANSACTIONS,
    STALLS,
    BROKER_STATES,
    INCIDENTS,
    BROKER_RESTARTS,
    PARTITION_FLOW,
    FINDINGS,
)

__all__ = [
    "BROKER_RESTARTS",
    "BROKER_STATES",
    "CADENCES",
    "CADENCE_NAMES",
    "CLIENTS",
    "CLIENT_KINDS",
    "CLIENT_TABLES",
    "FINDINGS",
    "INCIDENTS",
    "PARTITION_FLOW",
    "REBALANCES",
    "RECOVERIES",
    "RECOVERY_STEPS",
    "RECOVERY_STEP_ROWS",
    "STALLS",
    "STARTUPS",
    "STARTUP_STEPS",
    "STARTUP_STEP_ROWS",
    "STORY_TABLES",
    "TRANSACTIONS",
]
