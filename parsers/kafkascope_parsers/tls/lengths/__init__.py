"""Exchanges of TLS connections that nobody can decrypt, from the headers of their records alone.

headers    kernel: the lengths and times of encrypted records
turns      kernel: which records are one message, and which response belongs to which request
exchanges  `LengthExchanges`: both, block after block
"""

from kafkascope_parsers.tls.lengths.exchanges import EXCHANGE, GIVEN_UP, MISSED, OPEN, LengthExchanges

__all__ = ["EXCHANGE", "GIVEN_UP", "MISSED", "OPEN", "LengthExchanges"]
