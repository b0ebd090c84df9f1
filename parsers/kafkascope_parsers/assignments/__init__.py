"""What a classic group's members send each other through the coordinator: what they want, what they own and what the
leader gives them. To the broker these are bytes: `metadata` in JoinGroup, `assignment` in SyncGroup.
"""

from kafkascope_parsers.assignments.reading import Assigned, Wanted, read_assignment, read_metadata

__all__ = ["Assigned", "Wanted", "read_assignment", "read_metadata"]
