"""What a row of incidents advises, as one text."""

from typing import Any


def advised(incident: dict[str, Any]) -> str:
    """The texts of all actions, one after the other."""
    return " ".join(action["text"] for action in incident["actions"])
