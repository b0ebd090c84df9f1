from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.ingest.run import ingest


@pytest.fixture(scope="session")
def files(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(Path(__file__).with_name("capture_files.py"))


@pytest.fixture(scope="session")
def original(files: ModuleType) -> list:
    return files.pcap_packets(files.unpacked(files.LEADER_MOVE))


@pytest.fixture(scope="session")
def dataset(files: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cut") / "leader_move.kscope"
    ingest([files.LEADER_MOVE], out)
    return out
