"""Group protocols, one a module, with the facts that ingest, tables, stories and reports need. To add one, write a
module with its object, and add that object to the list.
"""

from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_parsers.group_protocols.consumer import CONSUMER
from kafkascope_parsers.group_protocols.protocol import GroupMessages, GroupProtocol
from kafkascope_parsers.group_protocols.share import SHARE
from kafkascope_parsers.group_protocols.streams import STREAMS

PROTOCOLS: tuple[GroupProtocol, ...] = (CLASSIC, CONSUMER, SHARE, STREAMS)

__all__ = ["PROTOCOLS", "GroupMessages", "GroupProtocol"]
