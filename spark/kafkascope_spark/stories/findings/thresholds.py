"""Thresholds of the rules, each with its source or reason. None is tuned to a capture."""

from decimal import Decimal

IDLE_LEAST_MS = 60_000
"""Shortest silence after which a middlebox may drop an idle connection: the shortest limits in use are a minute (usual
client timeouts of HAProxy and Envoy), 4 min of Azure, 350 s of AWS, 10 min of GCP."""
REPLACED, REPLACED_AFTER_MS = 3, 1_000
"""Clients leave the connection of their first metadata request open, and may replace one or two; they do not leave one
after the other to the same server."""
ASKED_AGAIN = 10
"""Fewest Metadata or coordinator requests of a client that makes no progress: enough to show its back-off
(retry.backoff.ms, 100 ms to 1 s), and more than any start needs."""
ASKED_AGAIN_MS = 10_000
"""Longest mean pause between them: a client without problems repeats them after minutes (metadata.max.age.ms, 5
min)."""
LOOKUPS_MS = 10_000
"""A start that works is over by then, as is the back-off of a client after an error."""
LOOKUP_BACKOFF_MS = 1_000
"""retry.backoff.max.ms (1 s): a client that has nothing to do refreshes its Metadata after minutes, kafka-go every six
seconds."""
LOOKUPS_OF_TOOL_MS = 500
"""Probes and exporters of metrics ask for Metadata every second or less often."""
STAYS_AWAY_MS = 20_000
"""Twice reconnect.backoff.max.ms of librdkafka (10 s), the longest pause of a client before it tries again."""
SLOW_START_MS = 10_000
"""A start that takes this long has met a timeout: connecting alone may take as long
(socket.connection.setup.timeout.ms, 10 s); a sound start takes one to four seconds with the group's initial delay
(group.initial.rebalance.delay.ms, 3 s)."""
MISSING_SHARE = Decimal("0.01")
"""Share of the stream's bytes, or of the packets, that a capture may lack before its numbers are doubtful: tshark's and
Zeek's own reports call 1 % of loss a problem."""
ONE_WAY_SHARE = Decimal("0.1")
"""Share of connections with only one direction that is tolerated: the begin and end of the capture cut a few."""
CUT_BYTES = 65_536
"""Longest packet: a file that lacks more bytes than this lost more than its last packet."""
LONG_TRANSACTION_MS = 60_000
"""transaction.timeout.ms of Java producers and librdkafka (1 min): a transaction that is open for longer either has a
longer timeout on purpose or was forgotten."""

LOAD_MS = 200
"""Twice the default retry.backoff.ms: after a normal load, the first retry succeeds."""
LOAD_APART_S = 10
"""Responses that are further apart belong to different loads: metadata.max.age.ms, elections and restarts take longer
than retries."""
THROTTLED_MS = 1_000
"""Least total throttle time: the length of one quota window (quota.window.size.seconds, default 1)."""
SESSIONS_BEGUN = 5
"""Fetch sessions per connection: the first one, and some more after errors, for which clients may begin a new one."""
STORM = 10
"""More responses than this for one resource are a storm (the same limit as for recoveries)."""
OLD_TIMES_MS = 604_800_000
"""log.retention.hours (168): records that are older by their own time may be deleted at the next check."""
RESET_AFTER_MS = 30_000
"""A consumer looks up its new offset at once; one attempt may take request.timeout.ms."""
TOPIC_MISSING_MS = 5_000
"""All brokers know a new topic sooner than this: the controller responds within a second, and brokers follow its
log."""
UNCOMPRESSED_BYTES = 65_536
"""Fewer uncompressed bytes than this are not worth a finding."""
COMPRESSIBLE_BYTES = 1_024
"""Smaller batches gain little from compression: the zstd or lz4 frame and the batch header (61 bytes) remain."""
TINY_REQUESTS = 100
"""Fewer requests on a connection may be a coincidence."""
TINY_BYTES = 1_024
"""A sixteenth of batch.size (default 16384)."""
LINGER_MS = 20
"""A wait that users of a log do not notice; linger.ms is 5 by default since Kafka 4.0 (KIP-1030)."""
SAME_BATCH = 5
"""A client that rewinds gets a batch two or three times, and continues."""
SAME_OFFSET_MS = 10_000
"""A consumer that fetches one offset for this long, although later ones are available, is not processing it: clients do
not fetch a partition while they hold records of it."""
RETURNS, RETURNS_MS, RETURNS_APART_S = 3, 5_000, 300
"""A rebalance, or an error handler that tries a record some times more, goes back to an offset once or for a moment.
Kubernetes waits five minutes at most before it starts a container again that ended."""
UNREAD_MS = 30_000
"""A member begins to fetch within seconds of its assignment; one request may take request.timeout.ms."""
CUT_CONNECTIONS = 2
"""One connection may end by chance soon after a request."""
UNFIT_RESPONSES = 3
"""One may be a message of an unknown release, and two its repetition."""
ABANDONED_RESPONSES = 3
"""A client that stops, or is killed, may do so in the middle of a response, and once more after a restart."""
NEVER_ANSWERED = 3
"""One request may be lost with its connection, and two with a broker that ends."""
PATIENCE_MS = 3_000
"""Clients that stop close connections sooner than this after the wait that a request allows."""
PATIENCE_S = 5
"""Shortest usual request timeout: some users set librdkafka's socket.timeout.ms to 5 s; the default of clients is 10 s
to 60 s."""
SENT_AWAY, SENT_AWAY_APART_S = 5, 60
"""A consumer normally asks its leader for the preferred replica again after metadata.max.age.ms (5 min by default, a
minute if lowered), and when leaders move: five times in a row less than a minute apart are not normal."""
PACED_FETCHES = 20
"""Fewer show no habit."""
PACED_MS = 200
"""Shorter pauses are normal work: a Fetch of 500 records every 200 ms is 2,500 records a second."""
MEMBER_IDS = 5
"""A client requests a member id once per join, and a few times more if responses are lost."""
REFUSED_AGAIN = 3
"""A manual request is tried once or twice; if it is refused three times in the same way, a program sends it."""
VOTES = 10
"""Elections are over after one or two rounds of requests for votes (KIP-595: random backoff), also among five."""
WITHOUT_LEADER_S = 10
"""controller.quorum.election.timeout.ms is 1 s, its backoff up to 1 s: several rounds have failed by then."""
FENCED_BEATS = 10
"""broker.heartbeat.interval.ms is 2 s: so many are 20 s."""
FENCED_S = 30
"""A broker that starts with sound logs is let in after some seconds."""
AFTER_CLOSE_MS = 50
"""A server closes its side of a connection as soon as it reads the client's FIN: packets up to this time after it were
already in flight."""
AT_ONCE_MS = 1_000
"""A server that ends a connection because of a request does so as soon as it has read the request."""
LATE_FETCH_MS = 1_000
"""A read from a busy disk takes some hundred milliseconds at most."""
LATE_FETCHES = 5
"""Fewer may be a coincidence: one follows each pause of a broker."""
CHATTY_REQUESTS = 200
"""Fewer requests may be a coincidence."""
CHATTY_A_SECOND = 20
"""An idle consumer sends two Fetch requests a second to each leader (fetch.max.wait.ms 500): six with three brokers,
and less than ten with heartbeats and commits."""
CHATTY_EACH = 3
"""Requests per record of a normal client at most: one to get or send it, one to commit it, and one without success."""
STORM_REQUESTS, STORM_A_SECOND = 200, 10
"""retry.backoff.ms (100 ms): the shortest pause between two requests for Metadata of a client that has an error."""
SKEW_TIMES = 2
"""Twice an even share: a cluster that is sized for the average cannot handle it."""
SKEW_BYTES = 1_048_576
"""Less data than this in a capture may be a coincidence."""
IN_FLIGHT = 5
"""max.in.flight.requests.per.connection (default 5)."""
STORM_APART_S = 300
"""max.poll.interval.ms (default 5 min): a member that was removed for slow polls is back within this time."""
STORM_REBALANCES = 5
"""Rebalances that no start or end of a member explains: two evictions and returns make four."""
REBALANCES_EACH = 2
"""The start or end of a member causes two rebalances with cooperative assignment: one to free partitions, one to assign
them."""
STORM_MANY = 20
"""This many rebalances within STORM_APART_S are harmful for any reason: less than 15 s pass between them."""
LEAVES = 2
"""Number of times that a member leaves its group without a reason and joins again: once may be a new subscription."""
LATE_COMMIT_MS = 5_000
"""auto.commit.interval.ms (default 5 s): a consumer without lag commits fetched records within this time."""
LATE_COMMITS = 3
"""Slices of time with late commits: one or two follow each rebalance and each pause."""
BEHIND_POLL_MS = 100
"""A request that waits this long for another one's response is slow because of it: brokers answer commits and
heartbeats within some milliseconds."""
BEHIND_POLLS = 20
"""Fewer such requests may be a coincidence: some occur in each rebalance and each move of a leader."""
EXPIRING_DAYS = 30
"""Certificates should be renewed earlier than this: monitoring tools warn a month before, and a change of a keystore
takes as long."""
EXPIRING_PART = 3
"""ACME clients and service meshes renew certificates of less than three months when a third of their validity is left:
only later is late."""
SMALL_RSA_BITS = 2048
"""RFC 9325, section 4.5: RSA keys have 2048 bits at least."""
SMALL_EC_BITS = 224
"""RFC 9325, section 4.5: keys on elliptic curves have 224 bits at least."""
SHORT_LIVED, SHORT_LIFE_MS = 20, 10_000
"""Number of clients of one name that each end within SHORT_LIFE_MS: people do not start tools and jobs this often."""
SHORT_LIVED_APART_MS = 5_000
"""A probe or job that runs every ten seconds or less often is cheap enough."""
SHORT_MEMBERS, SHORT_MEMBERS_APART_MS = 8, 15_000
"""Number of consumers of one address that join a group and leave it: a deployment starts each member once. With one
every SHORT_MEMBERS_APART_MS the group rebalances eight times a minute, more often than STORM_MANY allows."""
HELD_MS = 2_000
"""fetch.max.wait.ms is 500 ms by default (kafkajs: 5 s, with one byte): a client that waits for longer, and for many
bytes, is configured so."""
HELD = 3
"""Fewest Fetch requests that waited for min_bytes: one or two follow each pause of a producer."""
BACK_S = 60
"""Clients that know a topic request Metadata within some seconds of an error, exporters of metrics once a minute."""
COMMITTED_BACK = 2
"""A consumer that rewinds sets its offset back once."""
CUT_AFTER_MS = 5_000
"""Timeouts of idle connections are longer than this; a Fetch waits for half a second by default."""
CUT_SPREAD_MS = 500
"""Largest spread of the timers of load balancers and proxies."""
LARGE_BYTES = 262_144
"""A quarter of the lowest limit of a managed service (1 MB), and 16 times batch.size."""
NOT_HELD_WAIT_MS = 100
"""Clients that allow a shorter wait send many requests because of their own settings."""
NOT_HELD = 200
"""Fewer may be chance: some are answered at once after each change of a fetch session."""
NOT_HELD_PART = 10
"""A broker that holds a Fetch for a tenth of the time that it may answers because records arrived."""
LARGE_METADATA_BYTES, LARGE_METADATA = 100_000, 5
"""Metadata of a client's own topics has some kilobytes; a start requests that of all topics once or twice."""
LARGE_METADATA_APART_S = 30
"""Clients refresh Metadata every five minutes (metadata.max.age.ms), and exporters are asked every 15 s to a minute."""
HANDSHAKE_PATIENCE_MS = 500
"""Clients wait a second or longer for a connection; one that closes sooner no longer needs it."""
HALF_CLOSED, HALF_CLOSED_MS = 2, 20_000
"""Clients close a connection as soon as they read the server's FIN: Java at its next poll, others when they use the
connection next."""
IN_USE_REQUESTS, IN_USE_MS = 10, 5_000
"""A connection with so many requests, the last of them at most so long ago, is in use: heartbeats, polls and the
requests of busy producers are closer together."""
FIN_REPEATED_MS = 200
"""Shortest retransmission timeout of Linux (TCP_RTO_MIN)."""
CLOSED_WINDOWS, CLOSED_WINDOW_MS, CLOSED_WINDOW_SHARE = 10, 5_000, 0.2
"""A client reads late where its receive window was closed so often, for so long in all, and for this share of the time:
a single large response may close it for a moment."""
STOPPED_MS = 20_000
"""In this time a member sends six heartbeats (heartbeat.interval.ms 3 s) and four commits (auto.commit.interval.ms
5 s)."""
STOPPED_TIMES = 5
"""Pauses that are so many times longer than the usual ones are no usual pauses."""
USUAL_COMMITS = 5
"""Fewer commits show no habit."""
USUAL_HEARTBEATS = 3
"""Fewer heartbeats show no habit."""
EXPECTED_SESSION_MS = 45_000
"""session.timeout.ms (default since Kafka 3.0), for members of which the capture does not show it."""
CONTRADICTIONS = 3
"""A real change is told once; while it goes on, one broker may be a response behind another."""
