import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model.report import Report


@pytest.fixture
def dataset(tmp_path: Path, small: ModuleType) -> Callable[..., Path]:
    def write(**options: object) -> Path:
        return small.write_dataset(tmp_path / "small.kscope", **options)

    return write


@pytest.fixture(scope="session")
def report_of(tmp_path_factory: pytest.TempPathFactory, small: ModuleType) -> Callable[..., "Report"]:
    """The report of the dataset that `dataset` writes with these options; each is made once, for all tests that only
    look at it."""
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.report.model.report import report_model

    made: dict[str, Report] = {}

    def report(**options: object) -> "Report":
        key = repr(sorted(options.items()))
        if key not in made:
            place = tmp_path_factory.mktemp("report_of") / "small.kscope"
            made[key] = report_model(Dataset.open(small.write_dataset(place, **options)))
        return made[key]

    return report


@pytest.fixture(scope="session")
def whole(told_leader_move: Path) -> "Dataset":
    """The dataset of leader_move with its stories."""
    from kafkascope_analyzer.dataset.dataset import Dataset

    return Dataset.open(told_leader_move)


@pytest.fixture(scope="session")
def truth() -> Any:
    """What the lab that recorded leader_move did, and what brokers and clients logged."""
    captures = Path(__file__).parents[3] / "fixtures" / "captures"
    return json.loads((captures / "leader_move.truth.json").read_text())
