"""The numbers that rules compare with, each with its source or reason. None is tuned to a capture."""

from decimal import Decimal

IDLE_LEAST_MS = 60_000
"""A shorter silence no middlebox takes for an idle connection: the shortest limits in use are a minute (HAProxy's and
Envoy's usual client timeouts), Azure's 4 min, AWS's 350 s, GCP's 10 min."""
ASKED_AGAIN = 10
"""Metadata or coordinator requests of a client that gets nowhere: enough for its back-off (retry.backoff.ms, 100 ms to
1 s) to show, more than any start takes."""
ASKED_AGAIN_MS = 10_000
"""Longest mean pause between them: a client that is content asks again after minutes (metadata.max.age.ms, 5 min)."""
SLOW_START_MS = 10_000
"""A start that takes so long has run into a time limit: connecting alone may take as long
(socket.connection.setup.timeout.ms, 10 s); a sound start takes one to four seconds with the group's initial delay
(group.initial.rebalance.delay.ms, 3 s)."""
MISSING_SHARE = Decimal("0.01")
"""Share of the stream's bytes, or of the packets, that a capture may lack before its numbers are doubtful: tshark's and
Zeek's own reports call 1 % of loss a problem."""
ONE_WAY_SHARE = Decimal("0.1")
"""Share of connections seen in one direction only: a few are cut by the capture's ends."""
CUT_BYTES = 65_536
"""A file that lacks more than its last packet (a packet is at most so long) lost something worth knowing."""
LONG_TRANSACTION_MS = 60_000
"""transaction.timeout.ms of Java producers and librdkafka (1 min): a transaction that is open for longer was either
given more on purpose or forgotten."""

LOAD_MS = 200
"""Twice the default retry.backoff.ms: of a load as it should be, who asks again has the answer."""
LOAD_APART_S = 10
"""Answers further apart are of two loads: metadata.max.age.ms, elections and restarts take longer than retries do."""
THROTTLED_MS = 1_000
"""In all: the length of one quota window (quota.window.size.seconds, default 1)."""
SESSIONS_BEGUN = 5
"""On one connection: the first one, and some more after answers with errors, which clients may begin anew for."""
STORM = 10
"""More answers than that about one thing are a storm (the same as of an episode of recovery)."""
RESET_AFTER_MS = 30_000
"""A consumer looks for its new offset at once; one try may take request.timeout.ms."""
TOPIC_MISSING_MS = 5_000
"""A topic that is being created is known to all brokers sooner: the controller answers within a second, brokers follow
its log."""
UNCOMPRESSED_BYTES = 65_536
"""Less than that in a capture is not worth a sentence."""
COMPRESSIBLE_BYTES = 1_024
"""Smaller batches gain little: a zstd or lz4 frame and the batch's own header (61 bytes) stay."""
TINY_REQUESTS = 100
"""Fewer requests on a connection show no habit."""
TINY_BYTES = 1_024
"""A sixteenth of batch.size (default 16384)."""
LINGER_MS = 20
"""A wait that no user of a log notices; linger.ms is 5 by default since Kafka 4.0 (KIP-1030)."""
SAME_BATCH = 5
"""A client that rewinds gets a batch twice or three times, and goes on."""
SAME_OFFSET_MS = 10_000
"""A consumer that asks for one offset for as long, while later ones are there, is not about to process it: clients ask
for nothing of a partition whose records they hold."""
UNREAD_MS = 30_000
"""A member begins to fetch within seconds of its assignment; one request may take request.timeout.ms."""
CUT_CONNECTIONS = 2
"""One connection may end by chance soon after a request."""
UNFIT_RESPONSES = 3
"""One may be a message of a release that is not known here, and two its repetition."""
ABANDONED_RESPONSES = 3
"""A client that stops, or is killed, may do so in the middle of a response, and once more after a restart."""
NEVER_ANSWERED = 3
"""One request may be lost with its connection, and two with a broker that ends."""
PATIENCE_MS = 3_000
"""Clients that stop, or lose interest, close connections sooner after what a request allows."""
PATIENCE_S = 5
"""The shortest of the usual timeouts of requests: librdkafka's socket.timeout.ms is set to 5 s by some, the default of
clients is 10 s to 60 s."""
SENT_AWAY, SENT_AWAY_APART_S = 5, 60
"""A consumer asks its leader for the preferred replica again after metadata.max.age.ms (5 min by default, a minute
where somebody lowered it), and when leaders move: five times in a row less than a minute apart are none of that."""
PACED_FETCHES = 20
"""Fewer show no habit."""
PACED_MS = 200
"""Shorter pauses are those of any work: a Fetch of 500 records in 200 ms is 2,500 a second."""
MEMBER_IDS = 5
"""A client asks for a member id once for each time that it joins; some times more where answers are lost."""
REFUSED_AGAIN = 3
"""By hand, a call is tried once or twice; what is refused three times in the same way is part of a start."""
AFTER_CLOSE_MS = 50
"""A server closes its side of a connection as soon as it reads the FIN of the client: what comes later was on its "
"way."""
AT_ONCE_MS = 1_000
"""A server that ends a connection because of a request does so when it has read it."""
LATE_FETCH_MS = 1_000
"""A read from a busy disk takes some hundred milliseconds at most."""
LATE_FETCHES = 5
"""Fewer show no habit: one follows each pause of a broker."""
CHATTY_REQUESTS = 200
"""Fewer requests show no habit."""
CHATTY_A_SECOND = 20
"""An idle consumer sends two Fetch a second to each leader (fetch.max.wait.ms 500): three brokers make six, with
heartbeats and commits under ten."""
CHATTY_EACH = 3
"""One request to get or send a record, one to commit it, and one without success."""
SKEW_TIMES = 2
"""Twice an even share: a cluster that is sized for the average does not carry it."""
SKEW_BYTES = 1_048_576
"""Less data in a capture shows no habit."""
IN_FLIGHT = 5
"""max.in.flight.requests.per.connection (default 5)."""
STORM_APART_S = 300
"""max.poll.interval.ms (default 5 min): a member that is thrown out for slow polls is back within it."""
STORM_REBALANCES = 5
"""Rebalances that no start or end explains: two evictions and returns make four."""
REBALANCES_EACH = 2
"""A member that starts or ends makes two with cooperative assignment: one to free partitions, one to hand them out."""
STORM_MANY = 20
"""So many within STORM_APART_S hurt, whatever made them: a group at rest for less than 15 s between them."""
LEAVES = 2
"""Times that a member leaves its group without saying why and joins again: once may be a new subscription."""
LATE_COMMIT_MS = 5_000
"""auto.commit.interval.ms (default 5 s): a consumer that keeps up commits what it has fetched within it."""
LATE_COMMITS = 3
"""Slices of time with such commits: one or two follow each rebalance and each pause."""
BEHIND_POLL_MS = 100
"""A request that waits so long for another one's response is slow by that alone: brokers answer commits and heartbeats
within some milliseconds."""
BEHIND_POLLS = 20
"""Fewer such requests show no habit: some come together in each rebalance and each move of a leader."""
EXPIRING_DAYS = 30
"""A certificate is renewed before that: a month is what monitoring tools warn of, and what a change of a keystore
takes."""
EXPIRING_PART = 3
"""Certificates that are valid for less than three months are renewed when a third of their time is left, as ACME
clients and service meshes do: only what is left of that is late."""
SMALL_RSA_BITS = 2048
"""RFC 9325, section 4.5: RSA keys have 2048 bits at least."""
SMALL_EC_BITS = 224
"""RFC 9325, section 4.5: keys on elliptic curves have 224 bits at least."""
SHORT_LIVED, SHORT_LIFE_MS = 20, 10_000
"""Clients of one name that each end so soon: tools and jobs are started a few times by hand, not so often."""
SHORT_LIVED_APART_MS = 5_000
"""A probe or job that runs every ten seconds or less often is cheap enough."""
HELD_MS = 2_000
"""fetch.max.wait.ms is 500 ms by default (kafkajs: 5 s, with one byte): who waits for longer, and for many bytes, has
set that."""
HELD = 3
"""Fetch that waited for their bytes: one or two follow each pause of a producer."""
BACK_S = 60
"""Clients that know a topic ask for Metadata within some seconds of an error, exporters of metrics once a minute."""
COMMITTED_BACK = 2
"""A consumer that rewinds sets its offset back once."""
CUT_AFTER_MS = 5_000
"""Timeouts of idle connections are longer; clients' Fetch waits for half a second by default."""
CUT_SPREAD_MS = 500
"""Timers of load balancers and proxies are as exact."""
LARGE_BYTES = 262_144
"""A quarter of the least limit of a managed service (1 MB), and 16 times batch.size."""
