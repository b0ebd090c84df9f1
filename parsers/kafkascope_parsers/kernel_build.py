"""Writes the machine code of all kernels that packages list into a folder, for a wheel:
python -m kafkascope_parsers.kernel_build FOLDER PACKAGE ...
"""

import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from kafkascope_parsers.kernel_files import SUFFIX
from kafkascope_parsers.kernel_signatures import listed_kernels
from kafkascope_parsers.kernels import listed_code


def write_listed_code(folder: Path, packages: list[str]) -> None:
    """Writes the machine code of all listed kernels into a folder. Missing code is compiled on all processors."""
    listed = [each for package in packages for each in listed_kernels(package)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        for found in processes.map(listed_code, *zip(*listed, strict=True)):
            for name, path in found:
                shutil.copyfile(path, folder / f"{name}{SUFFIX}")


if __name__ == "__main__":
    for each in sys.argv[2:]:
        import_module(each)
    write_listed_code(Path(sys.argv[1]), sys.argv[2:])
