"""Compression around a capture file: gzip, zstd, lz4, xz and bzip2. It loads no kernels, so that the size of a capture
is known before they are."""

from kafkascope_parsers.compression.unpacking import LONGEST_MAGIC, Unpacked, compression_of, decompressed

__all__ = ["LONGEST_MAGIC", "Unpacked", "compression_of", "decompressed"]
