from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def dataset(tmp_path: Path, small: ModuleType) -> Callable[..., Path]:
    def write(**options: object) -> Path:
        return small.write_dataset(tmp_path / "small.kscope", **options)

    return write


@pytest.fixture(scope="session")
def real(ingested: Callable[..., Path]) -> Path:
    """A capture of a real cluster, without stories."""
    return ingested(ROOT / "fixtures" / "captures" / "leader_move.pcap.zst")


@pytest.fixture(scope="session")
def leader_move(told_leader_move: Path) -> Path:
    """The same capture with stories; of messages Metadata alone."""
    return told_leader_move
