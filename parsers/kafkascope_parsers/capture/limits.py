"""The limits of capture reading, with their reasons."""

HEAD_BYTES = 64
"""Bytes that are needed to recognize a format: the longest magic and file header are shorter."""

RECORD_LIMIT = 256 << 20
"""Longest packet record or pcapng block. libpcap's largest snap length is 256 kB, Wireshark reads packets up to 128 MiB
(D-Bus); a larger length means a corrupt file, and reading it would only fill memory."""

PACKET_LIMIT = 262_144
"""Longest packet of a pcap file whose header does not announce longer ones: libpcap's largest snap length. Wireshark
also calls a longer packet of the usual link types corrupt."""

SECRETS_LIMIT = 16 << 20
"""Bytes of secrets kept of one capture; a key log line is some 200 bytes, so that is 80,000 TLS sessions."""

NAME_LIMIT = 100_000
"""Names of addresses kept of one capture."""

INTERFACE_LIMIT = 65536
"""Interfaces of one pcapng section. Captures of `-i any` on large hosts have some thousands."""
