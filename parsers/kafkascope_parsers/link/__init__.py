"""Link and network layers: packets in, TCP segments out.

segments   the columns of segments
layers     steps through the headers below TCP, tunnels included
duplicates finds packets that the capture shows twice
kernel     reads packets
ip_packet  the IP header of a fragment or of a datagram's packet
fragments  puts IP fragments together
reader     runs all of this, block after block
datagrams  UDP of port 53, which the reader keeps
dns        reads these datagrams
"""

from kafkascope_parsers.link.datagrams import Datagram
from kafkascope_parsers.link.reader import LinkReader, PacketCounts
from kafkascope_parsers.link.segments import Segments

__all__ = ["Datagram", "LinkReader", "PacketCounts", "Segments"]
