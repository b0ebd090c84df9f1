"""Reads the data that members of a classic group send each other through the coordinator: the topics that they want,
the partitions that they own, and the leader's assignments. For the broker these are bytes: `metadata` in JoinGroup,
`assignment` in SyncGroup.
"""

from kafkascope_parsers.assignments.reading import Assigned, Wanted, read_assignment, read_metadata

__all__ = ["Assigned", "Wanted", "read_assignment", "read_metadata"]
