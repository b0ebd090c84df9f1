from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.ingest.run import ingest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def dataset(tmp_path: Path, small: ModuleType) -> Callable[..., Path]:
    def write(**options: object) -> Path:
        return small.write_dataset(tmp_path / "small.kscope", **options)

    return write


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of a real cluster, without stories."""
    out = tmp_path_factory.mktemp("sql") / "leader_move.kscope"
    ingest([ROOT / "fixtures" / "captures" / "leader_move.pcap.zst"], out)
    return out
