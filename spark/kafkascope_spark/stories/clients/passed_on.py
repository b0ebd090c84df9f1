"""What a client's machines pass on to the next stage, each under the key of the machine that takes it there."""

from kafkascope_analyzer.dataset.stories.stalls import Stall
from kafkascope_analyzer.dataset.stories.startups import StartupRow
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession
from kafkascope_spark.stories.incidents.affected_client import AFFECTED_CLIENT, AffectedClient
from kafkascope_spark.stories.incidents.listener_use import LISTENER_USE, ListenerUse
from kafkascope_spark.stories.incidents.silent_client import SILENT_CLIENT, SilentClient
from kafkascope_spark.stories.incidents.zookeeper_session import ZOOKEEPER_SESSION
from kafkascope_spark.stories.recoveries.client_recovery import RECOVERY, ClientRecovery
from kafkascope_spark.stories.stage_rows import PassedOn
from kafkascope_spark.stories.stalls.stall import STALL

FAILED_START = "failed_start"

ForIncidents = AffectedClient | SilentClient | ListenerUse | ZooKeeperSession | Stall | ClientRecovery | StartupRow


def for_incidents(row: ForIncidents) -> PassedOn:
    """A row that goes on to the incidents: it shows what failed, or belongs to what failed."""
    if isinstance(row, AffectedClient):
        return PassedOn(AFFECTED_CLIENT, row.client_instance_id, AFFECTED_CLIENT, row, row.client_instance_id)
    if isinstance(row, Stall):
        return PassedOn(STALL, "", STALL, row, row.stall_id, row.from_ns)
    if isinstance(row, ClientRecovery):
        return PassedOn(RECOVERY, "", RECOVERY, row, row.recovery_id, row.affected_ns)
    if isinstance(row, StartupRow):
        return PassedOn(FAILED_START, "", FAILED_START, row, row.startup_id, row.start_ns)
    if isinstance(row, ZooKeeperSession):
        return PassedOn(ZOOKEEPER_SESSION, row.client_ip or "", ZOOKEEPER_SESSION, row, row.conn_ids[0], row.first_ns)
    if isinstance(row, SilentClient):
        return PassedOn(SILENT_CLIENT, "", SILENT_CLIENT, row, row.client_instance_id, row.from_ns)
    return PassedOn(LISTENER_USE, row.server, LISTENER_USE, row, row.use_id, row.first_ns)
