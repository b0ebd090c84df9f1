"""The tables of the stories, collected from the packages that declare them."""

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_spark.stories.cadences.table import CADENCE_NAMES, CADENCES
from kafkascope_spark.stories.clients.table import CLIENT_KINDS, CLIENTS
from kafkascope_spark.stories.findings.table import FINDINGS
from kafkascope_spark.stories.flow.table import PARTITION_FLOW
from kafkascope_spark.stories.groups.table import REBALANCES
from kafkascope_spark.stories.incidents.table import INCIDENTS
from kafkascope_spark.stories.recoveries.steps_table import RECOVERY_STEP_ROWS, RECOVERY_STEPS
from kafkascope_spark.stories.recoveries.table import RECOVERIES
from kafkascope_spark.stories.restarts.table import BROKER_RESTARTS
from kafkascope_spark.stories.servers.table import BROKER_STATES
from kafkascope_spark.stories.stalls.table import STALLS
from kafkascope_spark.stories.startups.table import STARTUP_STEP_ROWS, STARTUP_STEPS, STARTUPS
from kafkascope_spark.stories.transactions.table import TRANSACTIONS

CLIENT_TABLES: tuple[Table, ...] = (CLIENTS, STARTUPS, STARTUP_STEP_ROWS, RECOVERIES, RECOVERY_STEP_ROWS, CADENCES)
"""The tables that the machine over the events of a client address fills."""
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
