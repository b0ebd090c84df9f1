"""Records that groups fetched again: a lost member had fetched them, but had not committed their offsets. The wire does
not show which of them the application had processed, so they are an upper limit of the records that were processed
twice."""

from dataclasses import dataclass

from kafkascope_spark.stories.stage_rows import StageRow


@dataclass(frozen=True, slots=True)
class FetchedAgain(StageRow):
    """Records of a topic-partition that a group, or a consumer without one, fetched again in a slice of time."""

    topic: str
    partition: int
    group_id: str | None
    client_instance_id: str | None
    from_ns: int
    to_ns: int
    n_records: int

    @property
    def reader(self) -> str:
        """The group, or the consumer."""
        return self.group_id or self.client_instance_id or ""
