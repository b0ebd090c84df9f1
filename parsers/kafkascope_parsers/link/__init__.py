"""Link and network layers: packets in, TCP segments out.

segments  the columns of segments
kernel    reads common packets
odd       reads all others one by one, with dpkt
fragments puts IP fragments together
reader    both, block after block
"""

from kafkascope_parsers.link.reader import LinkReader, PacketCounts
from kafkascope_parsers.link.segments import Segments

__all__ = ["LinkReader", "PacketCounts", "Segments"]
