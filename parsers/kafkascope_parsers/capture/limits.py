"""The limits of capture reading, and why each is what it is."""

HEAD_BYTES = 64
"""What telling a format takes: the longest magic and file header are shorter."""

RECORD_LIMIT = 256 << 20
"""Longest packet record or pcapng block. libpcap's largest snap length is 256 kB, Wireshark reads packets up to 128 MiB
(D-Bus); a length beyond is a corrupt file, and believing it would only fill memory."""

INTERFACE_LIMIT = 65536
"""Interfaces of one pcapng section. Captures of `-i any` on large hosts have some thousands."""
