"""Exchanges of TLS connections that nobody can decrypt, from the headers of their records alone.

headers    kernel: the lengths and times of encrypted records
messages   what is known of a connection and of its messages, which the kernels share
grouping   kernel: which records are one request or one response
resync     kernel: how a connection gets back into step, so that a response belongs to the request that it answers
exchanges  `LengthExchanges`: all of this, block after block
"""

from kafkascope_parsers.tls.lengths.exchanges import EXCHANGE, GIVEN_UP, MISSED, OPEN, LengthExchanges

__all__ = ["EXCHANGE", "GIVEN_UP", "MISSED", "OPEN", "LengthExchanges"]
