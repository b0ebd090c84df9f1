"""Picks the commits of offsets that the coordinator accepted, during the scan."""

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_parsers.api_keys import COMMIT_APIS

ACCEPTED_COMMITS = "facts.accepted_commits"
"""Spilled table: connection, number, group and generation of the accepted commits."""
_OK = REQUEST_STATUSES.index("ok")
_COMMIT_KEYS = pa.array(sorted(COMMIT_APIS), pa.int16())


def pick_accepted_commits(settled: pa.Table) -> pa.Table | None:
    """Returns the completed requests (SETTLED_SCHEMA) that are accepted commits of offsets: conn, number, group_id,
    generation_or_epoch (-1 for a client that is not a member)."""
    commits = pc.is_in(settled["api_key"], _COMMIT_KEYS)
    if not pc.any(commits).as_py():
        return None
    rows = settled.filter(commits)
    accepted = pc.and_(
        pc.and_(pc.equal(rows["status"], _OK), pc.equal(pc.fill_null(rows["n_errors"], 0), 0)),
        rows["group_id"].is_valid(),
    )
    chosen = rows.select(["conn", "number", "group_id", "generation_or_epoch"])
    return chosen.filter(pc.fill_null(accepted, False))
