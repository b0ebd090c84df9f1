from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.ingest.run import ingest


@pytest.fixture(scope="session")
def files() -> ModuleType:
    spec = spec_from_file_location("capture_files", Path(__file__).with_name("capture_files.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def original(files: ModuleType) -> list:
    return files.pcap_packets(files.unpacked(files.LEADER_MOVE))


@pytest.fixture(scope="session")
def dataset(files: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cut") / "leader_move.kscope"
    ingest([files.LEADER_MOVE], out)
    return out
