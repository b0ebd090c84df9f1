"""Makes a small pcapng for Wireshark out of large captures: what is selected, its packets, and how they are copied.

selection  what the user asked for
when       times and packet numbers as people write them
originals  the captures that a dataset was made from
scope      connections and windows of time on them, from a dataset
requests   requests that are selected, from a dataset
plan       both as spans of time of TCP flows
comments   what packets are worth pointing at
flows      which segments belong to a flow
spans      which times lie in a flow's spans
copy       the pass over the captures
blanked    secrets of the piece, which become zeros
pcapng     the file that is written
"""
