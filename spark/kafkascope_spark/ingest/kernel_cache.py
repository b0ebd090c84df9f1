"""Where the executors keep compiled kernels.

numba keeps them beside the sources, or in the user's cache folder. A package that came as an archive (--py-files), or
that the worker's user may not write to, and who has no home either, leaves it no place: then it is a folder of the
worker's user among the temporary files.
"""

import os
import stat
import tempfile
from pathlib import Path


def prepare_kernel_cache() -> None:
    """Gives numba a folder for compiled kernels where it would have none. To be called before a kernel is."""
    from numba import config

    import kafkascope_parsers

    package = Path(kafkascope_parsers.__file__).parent
    if config.CACHE_DIR or os.access(package, os.W_OK):
        return
    folder = Path(tempfile.gettempdir()) / f"kafkascope-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    # What is in there is executed: it must be nobody else's.
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
        config.CACHE_DIR = str(folder)
