"""How two processes share the tests (`make test`: pytest-xdist, -n 2); any other number does the same work.

A module's tests stay together, so that its fixtures are made once; and so do all that need the embedded Spark session,
whose start and first queries take as long as many tests. The order is random (pytest-randomly) but for:

- first come two groups that between them compile all kernels: each process compiles half of them, and finds the other
  half on disk;
- then what takes longest, lest one process be left with it when the other is done: the Spark group, and some modules;
- last the cluster, whose dataset the Spark group has made by then.
"""

from typing import Any

import pytest

COMPILING = {
    "packets": ("capture/test_formats.py", "link/test_link.py", "link/test_fragments.py", "tcp/test_streams.py"),
    "messages": ("framing/test_framer.py", "machine/test_golden.py", "records/test_batches.py"),
}
"""Group -> the modules of tests/parsers/ that between them call its kernels."""
GROUPS = {f"tests/parsers/{module}": group for group, modules in COMPILING.items() for module in modules}
SPARK, CLUSTER = "spark", "tests/spark/test_cluster.py"
FIRST = (*COMPILING, SPARK, "tests/analyzer/cli/test_analyze.py", "tests/analyzer/ingest/test_same_rows.py")


def group_of(nodeid: str) -> str:
    """The group in which a test runs: its module's, unless it shares more than a module's fixtures."""
    module, _, _ = nodeid.partition("::")
    if module.startswith("tests/spark/") and module != CLUSTER:
        return SPARK
    return GROUPS.get(module, module)


def rank(item: pytest.Item) -> int:
    """What comes first, in the middle, last."""
    group = group_of(item.nodeid)
    return FIRST.index(group) if group in FIRST else len(FIRST) + (group == CLUSTER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands out groups in their order. Marks would do (--dist loadgroup), but pytest 9.2 no longer takes them: the ids
    that xdist marks are fixed there."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)
