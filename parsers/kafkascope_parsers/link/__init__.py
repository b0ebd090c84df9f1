"""Link and network layers: packets in, TCP segments out.

segments   the columns of segments
layers     steps through the headers below TCP, tunnels included
duplicates knows a packet that the capture shows twice
kernel     reads packets
ip_packet  the IP header of a fragment or of a datagram's packet
fragments  puts IP fragments together
reader     all of it, block after block
datagrams  UDP of port 53, which the reader keeps on the way
dns        reads them
"""

from kafkascope_parsers.link.datagrams import Datagram
from kafkascope_parsers.link.reader import LinkReader, PacketCounts
from kafkascope_parsers.link.segments import Segments

__all__ = ["Datagram", "LinkReader", "PacketCounts", "Segments"]
