"""Compiles the kernels when a wheel is built, and puts them into it (docs/packaging.md).

Such a wheel is of one version of Python, one operating system and one family of processors. An editable installation
gets none: it compiles what it calls.
"""

import os
import subprocess
import sys
from pathlib import Path
from shutil import rmtree, which
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = ("parsers", "analyzer", "spark")
_PACKAGES = ("kafkascope_parsers", "kafkascope_analyzer")
_PLACE = "kafkascope_parsers/machine_code"
"""Where kafkascope_parsers.kernel_files looks for them."""
_LINKERS = ("cc", "gcc", "clang")


class CompiledKernels(BuildHookInterface):  # type: ignore[type-arg]
    """The build hook that hatchling calls for a wheel. Other requirements of compiling are in pyproject.toml."""

    def dependencies(self) -> list[str]:
        """A linker, where the machine has none."""
        return [] if os.environ.get("CC") or any(map(which, _LINKERS)) else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles, and names the files and the kind of wheel."""
        if version == "editable":
            return
        self._made = Path(mkdtemp(prefix="kafkascope-build-"))
        places = [str(Path(self.root, each)) for each in _SOURCES]
        path = os.pathsep.join([*places, *filter(None, [os.environ.get("PYTHONPATH")])])  # in which pip's own may be
        command = [sys.executable, "-m", "kafkascope_parsers.kernel_build", str(self._made), *_PACKAGES]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": path})
        build_data["force_include"] |= {str(self._made): _PLACE}
        build_data |= {"pure_python": False, "infer_tag": True}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what is in the wheel now."""
        if version != "editable":
            rmtree(self._made)
