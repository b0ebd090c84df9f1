"""Finds the exchanges of TLS connections that cannot be decrypted, from the headers of their records alone.

headers    kernel: the lengths and times of encrypted records
messages   the state of connections and messages, which the kernels share
grouping   kernel: groups records into requests and responses
resync     kernel: corrects the pairing of responses with requests after errors
exchanges  `LengthExchanges`: runs all of this, block after block
"""

from kafkascope_parsers.tls.lengths.exchanges import EXCHANGE, GIVEN_UP, MISSED, OPEN, LengthExchanges

__all__ = ["EXCHANGE", "GIVEN_UP", "MISSED", "OPEN", "LengthExchanges"]
