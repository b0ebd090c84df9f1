"""The tables that Spark writes under `stories/`."""

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories.client import (
    CADENCE_NAMES,
    CADENCES,
    CLIENT_KINDS,
    CLIENT_TABLES,
    CLIENTS,
    RECOVERIES,
    RECOVERY_STEP_ROWS,
    RECOVERY_STEPS,
    STARTUP_STEP_ROWS,
    STARTUP_STEPS,
    STARTUPS,
)
from kafkascope_analyzer.dataset.stories.findings import FINDINGS
from kafkascope_analyzer.dataset.stories.rebalances import REBALANCES
from kafkascope_analyzer.dataset.stories.transactions import TRANSACTIONS

STORY_TABLES: tuple[Table, ...] = (*CLIENT_TABLES, REBALANCES, TRANSACTIONS, FINDINGS)

__all__ = [
    "CADENCES",
    "CADENCE_NAMES",
    "CLIENTS",
    "CLIENT_KINDS",
    "CLIENT_TABLES",
    "FINDINGS",
    "REBALANCES",
    "RECOVERIES",
    "RECOVERY_STEPS",
    "RECOVERY_STEP_ROWS",
    "STARTUPS",
    "STARTUP_STEPS",
    "STARTUP_STEP_ROWS",
    "STORY_TABLES",
    "TRANSACTIONS",
]
