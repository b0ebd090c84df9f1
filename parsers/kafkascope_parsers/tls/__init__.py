"""TLS: reads handshakes, and decrypts streams with the keys of a key log, so that framing can treat them like plain
ones.

handshakes          follows the handshakes of all connections, without keys
handshake           the facts of one handshake
certificates        reads certificates
ja4                 a fingerprint of the client's hello
suite_names         names of cipher suites
secret              key material that is never shown in a text or pickled
key_log             reads key logs (SSLKEYLOGFILE)
hello               reads the unencrypted hellos
resumption          finds the sessions of TLS 1.2 that are resumed
suites              cipher suites, as data
key_schedule        derives keys from secrets
record_cipher       the interface of ciphers that open records
ciphers             the cipher of each kind of suite
session             the parameters that two hellos agreed on, and the ciphers for its secrets
records             finds records
alerts              the reasons why a side ended a connection
handshake_messages  finds the messages of a handshake
direction           decrypts one direction, record after record, also behind a gap
connection          one connection: decides whether it can be decrypted, and decrypts it
plain_text          the results of a block
streams             runs all of this, block after block; splice joins decrypted runs with the others
lengths             exchanges of connections that are not decrypted, by the lengths of their records
"""

from kafkascope_parsers.tls.handshakes import Handshakes
from kafkascope_parsers.tls.key_log import KeyLog
from kafkascope_parsers.tls.resumption import OriginalSessions, ResumedSessions, SessionMessage, session_messages
from kafkascope_parsers.tls.secret import Secret
from kafkascope_parsers.tls.streams import TlsStreams

__all__ = [
    "Handshakes",
    "KeyLog",
    "OriginalSessions",
    "ResumedSessions",
    "Secret",
    "SessionMessage",
    "TlsStreams",
    "session_messages",
]
