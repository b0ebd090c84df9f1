from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def files(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(Path(__file__).with_name("capture_files.py"))


@pytest.fixture(scope="session")
def original(files: ModuleType) -> list:
    return files.pcap_packets(files.unpacked(files.LEADER_MOVE))


@pytest.fixture(scope="session")
def dataset(files: ModuleType, ingested: Callable[..., Path]) -> Path:
    return ingested(files.LEADER_MOVE)
