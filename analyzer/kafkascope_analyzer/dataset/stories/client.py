"""The story tables of each client by itself: who it is, its starts, its recoveries, its loops."""

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories.cadences import CADENCES
from kafkascope_analyzer.dataset.stories.clients import CLIENTS
from kafkascope_analyzer.dataset.stories.recoveries import RECOVERIES
from kafkascope_analyzer.dataset.stories.recovery_steps import RECOVERY_STEP_ROWS
from kafkascope_analyzer.dataset.stories.startups import STARTUP_STEP_ROWS, STARTUPS

CLIENT_TABLES: tuple[Table, ...] = (CLIENTS, STARTUPS, STARTUP_STEP_ROWS, RECOVERIES, RECOVERY_STEP_ROWS, CADENCES)
"""The tables that the state machine over one address's events fills, in one go."""
