"""Makes exchanges (decoded requests with their responses) from streams. No other package reads bytes of streams.

reader         `Exchanges.push(streams, handler)`: frames, pairs and decodes a block, and returns complete exchanges
messages       the frames of one direction of a block, decoded batch by batch
open_requests  requests that wait for their responses, and the exchanges that are settled
by_lengths     exchanges of TLS connections that are not decrypted
undecoded      bytes that are in no decoded message, with the reason
hidden_values  the secrets that were seen on connections, which texts of brokers may repeat
greetings      facts from bytes outside of Kafka's frames: TLS handshakes and alerts, ZooKeeper sessions, raw SASL
               tokens
"""

from kafkascope_parsers.exchanges.by_lengths import RESPONSE_RECORDS
from kafkascope_parsers.exchanges.greetings import (
    Greeting,
    RawToken,
    TlsAlert,
    TlsCertificates,
    TlsHandshake,
    ZooKeeperClose,
    ZooKeeperSession,
)
from kafkascope_parsers.exchanges.messages import Messages, Requests, Responses
from kafkascope_parsers.exchanges.open_requests import (
    REQUEST_COLUMNS,
    RESPONSE_COLUMNS,
    STATUSES,
    settled_schema,
)
from kafkascope_parsers.exchanges.reader import Exchanges, MessageHandler, SettledBlock
from kafkascope_parsers.exchanges.undecoded import UNDECODED_SCHEMA, overhead_rows

__all__ = [
    "REQUEST_COLUMNS",
    "RESPONSE_COLUMNS",
    "RESPONSE_RECORDS",
    "STATUSES",
    "UNDECODED_SCHEMA",
    "Exchanges",
    "Greeting",
    "MessageHandler",
    "Messages",
    "RawToken",
    "Requests",
    "Responses",
    "SettledBlock",
    "TlsAlert",
    "TlsCertificates",
    "TlsHandshake",
    "ZooKeeperClose",
    "ZooKeeperSession",
    "overhead_rows",
    "settled_schema",
]
