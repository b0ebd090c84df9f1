"""TCP: makes streams in order from segments, for each direction, and events of each connection.

streams      the columns handed to framing
state        the state: connections, sides, events
flows        finds a segment's connection
lifecycle    (connection, segment) -> the same connection or a new one, how it opened and closed
track        takes a block's segments in capture order, and at once the payload of those in sequence
waiting      keeps the others until a hole is filled or given up
spans        stretches of time in which a side sent packets or waited for the other side
liveness     finds these stretches, segment by segment
ack_times    measures how soon what a side sends is acknowledged, by slices of time
first_copies compares retransmissions with the bytes that came first
assemble     copies the payload into runs
reader       runs all of this, block after block

Nothing is imported here: framing needs only the columns of streams, and should not load the rest.
"""
