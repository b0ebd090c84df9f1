"""`Only`: the restriction of an answer by an assistant, as options restrict a report."""

from pydantic import BaseModel, Field


class Only(BaseModel):
    """Several kinds must all hold, several values of one kind any of them; everything, where nothing is said."""

    clients: list[str] | None = Field(default=None, description="client ids or client_instance_ids")
    nodes: list[int] | None = Field(default=None, description="node ids of brokers")
    groups: list[str] | None = Field(default=None, description="groups")
    topics: list[str] | None = Field(default=None, description="topics")
    start: str | None = Field(default=None, description="ISO 8601 in UTC, or +12.5s after the capture's start")
    end: str | None = Field(default=None, description="likewise")
