"""Link and network layers: packets in, TCP segments out.

segments  the columns of segments
kernel    reads common packets
odd       reads all others one by one, with dpkt
fragments puts IP fragments together
reader    both, block after block
datagrams UDP of port 53, which the reader keeps on the way
dns       reads them
"""

from kafkascope_parsers.link.datagrams import Datagram
from kafkascope_parsers.link.reader import LinkReader, PacketCounts
from kafkascope_parsers.link.segments import Segments

__all__ = ["Datagram", "LinkReader", "PacketCounts", "Segments"]
