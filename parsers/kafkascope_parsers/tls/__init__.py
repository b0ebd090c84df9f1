"""TLS: what handshakes show without keys. With the keys of a key log: encrypted streams in, decrypted streams out, and
framing sees no difference.

handshakes          follows the handshakes of all connections, without keys
handshake           what one handshake showed
certificates        what a certificate says
ja4                 a fingerprint of the client's hello
suite_names         names of cipher suites
secret              key material that no text shows and no pickle holds
key_log             reads key logs (SSLKEYLOGFILE)
hello               what hellos show in clear
resumption          which sessions of TLS 1.2 are resumed
suites              cipher suites, as data
key_schedule        from secrets to keys
record_cipher       what opens one record
ciphers             for each kind of suite
session             what two hellos agreed on, and the ciphers of its secrets
records             where records lie
alerts              why a side gave a connection up
handshake_messages  which messages a handshake has
direction           decrypts one direction, record after record, also behind a gap
connection          a connection until it is known whether it can be decrypted, and then
plain_text          what comes of a block
streams             all of it, block after block; splice puts decrypted runs beside the others
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
