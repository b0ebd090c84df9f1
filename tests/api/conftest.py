from pathlib import Path

import pytest

import kafkascope


@pytest.fixture(scope="session")
def place(told_leader_move: Path) -> Path:
    """A dataset with stories."""
    return told_leader_move


@pytest.fixture(scope="module")
def dataset(place: Path) -> kafkascope.Dataset:
    return kafkascope.open(place)
