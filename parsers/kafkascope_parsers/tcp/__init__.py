"""TCP: segments in, streams in order out, per direction; what happened on each connection beside.

streams      the columns handed to framing
state        connections, sides, events: what is kept
flows        finds a segment's connection
lifecycle    (connection, segment) -> the same connection or a new one, how it opened and closed
track        takes a block's segments in capture order, those in sequence right away
waiting      the others, until a hole is filled or given up
spans        when a side sent packets, and when it waited for the other: what is kept of that
liveness     follows it, segment by segment
ack_times    measures how soon what a side sends is acknowledged, by slices of time
first_copies compares retransmissions with what came first
assemble     copies what was taken into runs
reader       all of it, block after block

Nothing is imported here: framing needs the columns of streams, and a command that only frames need not load the rest.
"""
