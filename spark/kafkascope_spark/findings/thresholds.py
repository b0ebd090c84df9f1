"""The numbers that rules compare with, each with its source or reason. None is tuned to a capture."""

IDLE_CLOSE_MS = 540_000
"""connections.max.idle.ms of Java clients (9 min); brokers close after 10 min (600,000)."""
IDLE_LEAST_MS = 60_000
"""A shorter silence no middlebox takes for an idle connection: the shortest limits in use are a minute (HAProxy's and
Envoy's usual client timeouts), Azure's 4 min, AWS's 350 s, GCP's 10 min."""
SILENT_CLIENTS = 2
"""Clients whose requests one broker leaves unanswered at a time: one alone may be its own connection's fault."""
ANSWERS_MEANWHILE_NS = 1_000_000_000
"""What a broker answers so long after it was lost was not on the way already: the longest fetch wait is half a second
by default (fetch.max.wait.ms)."""
AT_ONCE_NS = 2_000_000_000
"""Within this time all connections to a broker end that dies or closes its network layer."""
LEFT_NS = 5_000_000_000
"""What goes on for so long after a broker was lost was not at that broker, or it was not lost: a process that ends
takes its connections along at once."""
SAME_OUTAGE_NS = 60_000_000_000
"""A broker that clients are refused by within a minute of its loss, before anyone was back, is still the same lost one:
a restart takes some seconds to a minute."""
ASKED_AGAIN = 10
"""Metadata or coordinator requests of a client that gets nowhere: enough for its back-off (retry.backoff.ms, 100 ms to
1 s) to show, more than any start takes."""
ASKED_AGAIN_MS = 10_000
"""Longest mean pause between them: a client that is content asks again after minutes (metadata.max.age.ms, 5 min)."""
UNAUTHENTICATED = 2
"""Connections that a SASL listener closed without a word on an unauthenticated request: one may end by chance."""
SLOW_START_MS = 10_000
"""A start that takes so long has run into a time limit: connecting alone may take as long
(socket.connection.setup.timeout.ms, 10 s); a sound start takes one to four seconds with the group's initial delay
(group.initial.rebalance.delay.ms, 3 s)."""
MISSING_SHARE = 0.01
"""Share of the stream's bytes, or of the packets, that a capture may lack before its numbers are doubtful: tshark's and
Zeek's own reports call 1 % of loss a problem."""
ONE_WAY_SHARE = 0.1
"""Share of connections seen in one direction only: a few are cut by the capture's ends."""
CUT_BYTES = 65_536
"""A file that lacks more than its last packet (a packet is at most so long) lost something worth knowing."""
