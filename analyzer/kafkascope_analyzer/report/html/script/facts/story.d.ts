// Made by scripts/reference_pages.py from the dataclasses of the report and of the page: change those.
// Times (`*_ns`) are nanoseconds since the capture's start.

/** everything that the page shows */
export interface Story {
  headline: Headline;
  incidents: Incidents;
  connections: Connections;
  cluster: Cluster;
  apis: Api[];
  errors: Errors;
  unread: DataQuality;
  stories: Presence;
  request_rates: RequestRates;
  latency: BrokerLatency;
  leaders: Leaders;
  restarts: Restarts;
  client_traffic: AllClientTraffic;
  removed_versions: RemovedVersions;
  starts: Starts;
  episodes: Episodes;
  rebalances: Rebalances;
  transactions: Transactions;
  flow: Flow;
  findings: Findings;
  bands: Band[];
  first_client: string;
  families: Family[];
  evidence: Record<string, Evidence>;
  topology: ClusterStory;
  broker_lanes: BrokerLane[];
  stalls: StallBand[];
  capture: Capture;
  lanes: Lanes;
  requests: Requests;
}

/** what the report says first */
export interface Headline {
  /** the worst of all incidents, stalls, failed starts and findings */
  verdict: string;
  /** what the verdict is the worst of, and what --fail-on counts */
  judged: Judged[];
  /** what failed */
  sentence: string;
  /** who stood still and for how long, failed starts, findings that stand alone */
  details: string[];
  /** clients in the capture, without the brokers' own */
  n_clients: number;
  /** of them, those that stood still */
  n_stalled_clients: number;
  /** of those, the ones that were still waiting when the capture ended */
  n_waiting_clients: number;
  /** stalls */
  n_stalls: number;
  /** the longest stall */
  longest_ms: number | null;
  /** starts of clients that did not become ready */
  n_failed_starts: number;
}

/** things of one kind and severity that the verdict is about */
export interface Judged {
  /** incident, stall (of no incident), failed start, or finding */
  kind: string;
  /** error, warning or info */
  severity: string;
  /** how many */
  n: number;
}

/** all incidents, worst first, with the stalls that belong to none */
export interface Incidents {
  /** whether the dataset has the tables incidents and stalls */
  present: boolean;
  /** why it has not, and what to do */
  why_not: string | null;
  /** waits from this length on are stalls (--stall), milliseconds */
  stall_ms: number;
  /** incidents above info that followed from no other */
  n: number;
  /** these and the routine ones by severity */
  by_severity: Record<string, number>;
  /** those above info by severity, then by time: at most 100 */
  listed: Incident[];
  /** incidents of severity info: nobody stood still */
  n_routine: number;
  /** the routine incidents in one line; empty where there are none */
  routine_text: string;
  /** the routine incidents by time: at most 100 */
  routine: Incident[];
  /** lines of stalls that belong to no incident */
  n_unassigned: number;
  /** stalls that belong to no incident: the first 50 lines */
  unassigned: Wait[];
}

/** one thing that failed, with who stood still because of it and what followed */
export interface Incident {
  /** the incident */
  incident_id: string;
  /** what failed, as in table incidents */
  kind: string;
  /** error, warning or info: the worst of the incident and those that followed from it */
  severity: string;
  /** broker that failed */
  node_id: number | null;
  /** hosts that were cut from the broker; empty where everybody was */
  hosts: string[];
  /** what failed, in a few words */
  title: string;
  /** what failed, from when to when, and how the packets show it */
  sentence: string;
  /** what to change */
  advice: string;
  /** what in the capture shows it */
  how_known: string;
  /** when it failed */
  start_ns: number;
  /** when the last of those who stood still was served again, gave up or ended; null where one still waited */
  end_ns: number | null;
  /** whether nobody still waited when the capture ended */
  over: boolean;
  /** from when to when, and for how long */
  when: string;
  /** clients that stood still or had to recover */
  n_clients: number;
  /** names of the first 20 of them */
  clients: string[];
  /** stalls that belong to it or to what followed from it */
  n_stalls: number;
  /** lines in the table of who stood still */
  n_waits: number;
  /** who stood still: the first 50 lines, those not over first, then the longest */
  waits: Wait[];
  /** what followed from it */
  followed: Consequence[];
  /** the same, counted in one line; empty where nothing followed */
  followed_text: string;
  /** findings that are consequences of it and say more than it does: they are in findings.listed */
  finding_ids: string[];
  /** requests and connections that prove it */
  n_evidence: number;
  /** the first 20 of them */
  evidence: Proof[];
  /** their packets in words */
  packets: string;
  /** the command that cuts its packets out; OUT.kscope stands for the dataset */
  cut: string;
  /** the command that opens the piece in Wireshark */
  wireshark: string;
  /** the command that explains it; OUT.kscope stands for the dataset */
  explain: string;
}

/** stalls of one client for one service: a line of the table of who stood still */
export interface Wait {
  /** client id, else its address or its group */
  who: string;
  /** client */
  client_instance_id: string | null;
  /** group that waited */
  group_id: string | null;
  /** the service, as in table stalls */
  kind: string;
  /** what it waited for: the service with its topic-partition, group or transactional id */
  what: string;
  /** since when it waited */
  from_ns: number;
  /** when the wait ended; null where it still waited */
  to_ns: number | null;
  /** since when it waited, after the capture's start */
  at: string;
  /** how long it waited */
  waited_ms: number;
  /** the same in words */
  lasted: string;
  /** whether none of these stalls still went on when the capture ended */
  over: boolean;
  /** over, still waiting, or that the client gave up or ended */
  state: string;
  /** the same as a word: the first that one of these stalls had */
  outcome: "still_open" | "gave_up" | "not_captured" | "served";
  /** requests that were sent for it meanwhile */
  n_attempts: number;
  /** errors that they got */
  error_names: string[];
  /** stalls of this line */
  n_stalls: number;
  /** the longest 10 of them, the longest first */
  stall_ids: string[];
}

/** what followed from an incident, counted */
export interface Consequence {
  /** incidents, recoveries, rebalances, transactions, leaders, coordinators or findings */
  kind: string;
  /** how many */
  n: number;
  /** the count with its noun */
  text: string;
  /** the first 10 ids, which `kafkascope explain` takes; none for moves */
  ids: string[];
  /** a sentence for each of the first 10 */
  sentences: string[];
}

/** a request, or a connection, that proves a sentence */
export interface Proof {
  /** request id, or conn_id of a connection */
  id: string;
  /** API of the request; null for a connection */
  api_name: string | null;
  /** worst error of its answer */
  error_name: string | null;
  /** first byte of the request */
  ts_ns: number | null;
  /** number of the file in capture.files, from 0 */
  capture_id: number | null;
  /** packets of request and answer, counted from 1 */
  packets: number[];
  /** last byte of the request to first byte of the answer */
  latency_us: number | null;
  /** the same in words: 27.0 s, or that no answer came */
  took: string;
  /** broker */
  node_id: number | null;
  /** port of the broker */
  server_port: number | null;
}

/** how many TCP connections there are, what they speak, how they began and ended */
export interface Connections {
  /** TCP connections */
  n: number;
  /** what they speak */
  by_protocol: ProtocolCount[];
  /** how they ended */
  by_close: CloseCount[];
  /** what showed which end is the client */
  by_opening: OpeningCount[];
}

/** connections that speak a protocol */
export interface ProtocolCount {
  /** what they speak */
  protocol: string | null;
  /** how many */
  n: number;
}

/** connections that ended in one way */
export interface CloseCount {
  /** how they ended */
  close_kind: string | null;
  /** how many */
  n: number;
}

/** connections whose client was known in one way */
export interface OpeningCount {
  /** what showed which end is the client */
  opened_by: string | null;
  /** how many */
  n: number;
}

/** the brokers */
export interface Cluster {
  /** cluster ids */
  cluster_ids: string[];
  /** node ids that were named as controller */
  controllers: number[];
  /** how it keeps its metadata */
  mode: "ZooKeeper" | "KRaft" | "migration from ZooKeeper to KRaft" | null;
  /** mode and releases for people */
  sentence: string | null;
  /** brokers */
  n_brokers: number;
  /** brokers by node id, at most 200 */
  brokers: Broker[];
  /** Kafka servers whose node id is not known */
  servers_without_node_id: UnknownServer[];
}

/** a broker */
export interface Broker {
  /** node id */
  node_id: number;
  /** addresses at which it answered, the commonest first */
  addresses: string[];
  /** what it advertises */
  advertised: string[];
  /** rack */
  rack: string | null;
  /** releases of Kafka that it ran, by time */
  releases: ReleaseTime[];
  /** connections to it */
  n_connections: number;
  /** requests on them */
  n_requests: number;
  /** non-zero error codes in its responses */
  n_errors: number;
}

/** a release of Kafka that a broker ran */
export interface ReleaseTime {
  /** the releases that offer such versions of APIs, or `unknown` */
  release: string;
  /** first connection on which it offered them */
  first_ns: number;
  /** last one */
  last_ns: number;
}

/** a Kafka server whose node id is not known */
export interface UnknownServer {
  /** address */
  address: string;
  /** connections to it */
  n_connections: number;
}

/** an API */
export interface Api {
  /** API */
  api_name: string;
  /** requests */
  n: number;
  /** versions of the requests */
  versions: number[];
  /** median of broker_us (at most 0.8 % low), as all percentiles here */
  p50_us: number | null;
  /** 99th percentile */
  p99_us: number | null;
  /** longest */
  max_us: number | null;
  /** responses with an error code */
  n_with_errors: number;
  /** what became of the requests */
  statuses: Record<string, number>;
  /** bytes of the requests */
  request_bytes: number;
  /** bytes of the responses */
  response_bytes: number;
}

/** error codes in the brokers' responses */
export interface Errors {
  /** non-zero error codes */
  n: number;
  /** pairs of error and API */
  n_kinds: number;
  /** pairs, the most frequent first, at most 40 */
  kinds: ErrorKind[];
}

/** an error of an API */
export interface ErrorKind {
  /** error */
  error_name: string;
  /** API that returned it */
  api_name: string;
  /** times */
  n: number;
  /** first time */
  first_ns: number;
  /** last time */
  last_ns: number;
}

/** what the capture could not show */
export interface DataQuality {
  /** stream bytes that are no decoded frame, by reason */
  undecoded: UndecodedReason[];
  /** connections */
  n_connections: number;
  /** connections whose SYN is not in the capture */
  n_without_start: number;
  /** connections that were open at its end */
  n_still_open: number;
  /** connections of which bytes are missing */
  n_with_gaps: number;
  /** bytes that are missing */
  missing_bytes: number;
  /** connections of which one direction is there */
  n_one_direction: number;
  /** connections that speak TLS */
  n_encrypted: number;
  /** TCP events that hint at trouble */
  tcp_events: EventCount[];
  /** what was left out at each limit */
  limits_hit: Record<string, number>;
  /** fields with values that they cannot have, taken as null */
  out_of_range: FieldOutOfRange[];
}

/** a reason for which bytes did not decode */
export interface UndecodedReason {
  /** why */
  reason: "gap" | "mid_stream_start" | "not_kafka" | "tls" | "unknown_api" | "unknown_version" | "malformed_body" | "trailing_zeros" | "oversize" | "truncated_by_snaplen" | "sasl_token" | "orphan_response" | "capture_end" | "connection_end" | "zookeeper" | "unknown";
  /** stretches */
  n: number;
  /** their bytes */
  bytes: number;
  /** different details */
  n_details: number;
  /** the commonest details */
  details: string[];
}

/** a kind of TCP event */
export interface EventCount {
  /** event of table tcp_events */
  event: string;
  /** times */
  n: number;
}

/** a field of a message, and its values that it cannot have */
export interface FieldOutOfRange {
  /** API of the message */
  api_name: string | null;
  /** request or response */
  direction: "request" | "response" | null;
  /** path of the field in the message */
  field: string;
  /** what the field is */
  kind: string;
  /** least and greatest value that it may have */
  allowed: string;
  /** values outside of that */
  n: number;
  /** the least of them */
  least: string;
  /** the greatest of them */
  greatest: string;
  /** the first request, or request of a response, that has one */
  request_id: string | null;
}

/** whether Spark's stories are in the dataset, or those that a section of the report is made from */
export interface Presence {
  /** whether the dataset has the table */
  present: boolean;
  /** why it has not, and what to do */
  why_not: string | null;
}

/** requests over the capture, by family of APIs */
export interface RequestRates {
  /** slots of equal length that the capture is divided into */
  n_slots: number;
  /** how long each is */
  slot_text: string;
  /** families that sent requests */
  families: FamilyRates[];
}

/** requests of a family of APIs over the capture */
export interface FamilyRates {
  /** family of APIs */
  family: string;
  /** what its requests are for */
  title: string;
  /** the same in a word */
  short_title: string;
  /** requests */
  n: number;
  /** of them, those with an error code or without the answer that they expected */
  n_failed: number;
  /** requests a second in the busiest slot */
  most_per_second: number;
  /** the longest 99th percentile of a slot */
  most_p99_ms: number | null;
  /** the busiest slot, the slowest, and failures in words */
  text: string;
  /** the slots in which requests were sent, by time */
  slots: RateSlot[];
}

/** requests of a family that were sent in a slot of time */
export interface RateSlot {
  /** begin of the slot */
  from_ns: number;
  /** end of the slot */
  to_ns: number;
  /** requests */
  n: number;
  /** of them, those with an error code or without the answer that they expected */
  n_failed: number;
  /** requests a second */
  per_second: number;
  /** 99th percentile of the broker's time with those that were answered (at most 0.8 % low) */
  p99_ms: number | null;
  /** from when to when, after the capture's start */
  when: string;
  /** rate, latency and failures in words */
  text: string;
}

/** how fast each broker answered each API */
export interface BrokerLatency {
  /** round trips as the capture saw them: part of the broker's time */
  brokers: RoundTrip[];
  /** pairs of API and broker */
  n: number;
  /** pairs, those with most requests first, at most 500 */
  listed: LatencyPair[];
}

/** round trips to a broker */
export interface RoundTrip {
  /** node id of the broker */
  node_id: number | null;
  /** its address, where the node id is not known */
  address: string | null;
  /** handshakes seen */
  n_handshakes: number;
  /** SYN to SYN-ACK, median */
  round_trip_p50_us: number | null;
  /** 99th percentile */
  round_trip_p99_us: number | null;
}

/** how fast a broker answered an API */
export interface LatencyPair {
  /** API */
  api_name: string;
  /** node id of the broker */
  node_id: number | null;
  /** its address, where the node id is not known */
  address: string | null;
  /** answered requests */
  n: number;
  /** last byte of the request, or of the response before it, to first byte of the response, median */
  broker_p50_us: number | null;
  /** 99th percentile */
  broker_p99_us: number | null;
  /** wait for the response before it on the connection, median */
  queued_p50_us: number | null;
  /** 99th percentile */
  queued_p99_us: number | null;
  /** first to last byte of the request and of the response, median */
  network_p50_us: number | null;
  /** 99th percentile */
  network_p99_us: number | null;
  /** longest time at the broker */
  max_us: number | null;
}

/** how evenly partition leaders share the load */
export interface Leaders {
  /** brokers that clients wrote to or read from */
  n: number;
  /** the most loaded one's bytes over an even share: 1.0 is even */
  skew: number | null;
  /** brokers by node id, at most 200 */
  listed: LeaderLoad[];
}

/** what clients wrote to and read from a broker */
export interface LeaderLoad {
  /** node id */
  node_id: number;
  /** partitions that it was seen to lead */
  n_partitions: number;
  /** Produce requests */
  n_produce: number;
  /** bytes of record batches in them */
  produce_bytes: number;
  /** records in them */
  produce_records: number;
  /** clients' Fetch requests */
  n_fetch: number;
  /** bytes of record batches in the responses */
  fetch_bytes: number;
  /** records in them */
  fetch_records: number;
}

/** all restarts by time */
export interface Restarts {
  /** whether the dataset has the tables that show when brokers went down */
  present: boolean;
  /** why it has not, and what to do */
  why_not: string | null;
  /** restarts */
  n: number;
  /** restarts after which a broker had another release */
  n_upgrades: number;
  /** how many, in which order, and whether releases changed; empty where there is none */
  sentence: string;
  /** restarts by time, at most 100 */
  listed: Restart[];
}

/** one restart of one broker */
export interface Restart {
  /** broker; null where it is known by its address alone */
  node_id: number | null;
  /** the broker in words */
  broker: string;
  /** when the first leader or coordinator moved away, else when its connections ended */
  begin_ns: number;
  /** when its connections ended; where only its release shows the restart, when it was last seen */
  down_ns: number;
  /** when it served somebody again; null where the capture does not show that */
  back_ns: number | null;
  /** down_ns after the capture's start */
  at: string;
  /** from down_ns to back_ns in words */
  lasted: string;
  /** release of Kafka before, by what it offered (ApiVersions) */
  release_before: string | null;
  /** release of Kafka afterwards */
  release_after: string | null;
  /** whether the two are known and differ */
  is_upgrade: boolean;
  /** both in words, and whether it came back in KRaft mode or in ZooKeeper mode instead */
  release: string;
  /** clients that waited because of it; null without stories */
  n_clients: number | null;
  /** names of the first 20 of them */
  clients: string[];
  /** stalls because of it; null without stories */
  n_stalls: number | null;
  /** the longest of them; null where there is none */
  longest_ms: number | null;
  /** whether all of them were over when the capture ended */
  is_over: boolean;
  /** who waited and for how long, in words */
  cost: string;
  /** incidents that these stalls belong to; the broker's own first */
  incident_ids: string[];
}

/** how each client (address and client id) sends and fetches */
export interface AllClientTraffic {
  /** whether compression was read (--record-batches) */
  codecs_known: boolean;
  /** clients that sent or fetched */
  n: number;
  /** clients, those that moved most first, at most 200 */
  listed: ClientTraffic[];
}

/** how a client sends and fetches */
export interface ClientTraffic {
  /** address */
  client_ip: string | null;
  /** client id */
  client_id: string | null;
  /** requests of all APIs */
  n_requests: number;
  /** its Produce requests; null without any */
  produce: ProduceTraffic | null;
  /** its Fetch and ShareFetch requests; null without any */
  fetch: FetchTraffic | null;
  /** requests of all APIs a record: much above 1 is chatty */
  requests_a_record: number | null;
}

/** produce requests of a client */
export interface ProduceTraffic {
  /** requests */
  n: number;
  /** records */
  n_records: number;
  /** bytes of record batches */
  record_bytes: number;
  /** records a request */
  records_a_request: number | null;
  /** bytes of record batches a request */
  bytes_a_request: number | null;
  /** bytes a batch: one a partition and request */
  bytes_a_batch: number | null;
  /** requests by acks */
  acks: Record<string, number>;
  /** batches by compression */
  codecs: Record<string, number>;
}

/** fetch and ShareFetch requests of a client */
export interface FetchTraffic {
  /** requests */
  n: number;
  /** records */
  n_records: number;
  /** bytes of record batches */
  record_bytes: number;
  /** records a request */
  records_a_request: number | null;
  /** bytes of record batches a request */
  bytes_a_request: number | null;
  /** responses without records */
  n_empty: number;
  /** commonest max_wait_ms */
  max_wait_ms: number | null;
  /** commonest min_bytes */
  min_bytes: number | null;
}

/** who uses API versions that Kafka 4.0 removed (KIP-896) */
export interface RemovedVersions {
  /** uses: client, API, version */
  n: number;
  /** requests */
  n_requests: number;
  /** uses, the most frequent first, at most 200 */
  listed: RemovedUse[];
}

/** a client's use of a version that Kafka 4.0 does not have */
export interface RemovedUse {
  /** address */
  client_ip: string | null;
  /** client id */
  client_id: string | null;
  /** API key */
  api_key: number;
  /** API */
  api_name: string | null;
  /** version */
  api_version: number;
  /** requests */
  n: number;
  /** first request */
  first_ns: number;
  /** last request */
  last_ns: number;
  /** client software, where ApiVersions says it */
  software_name: string | null;
  /** its version */
  software_version: string | null;
  /** lowest version that 4.0 has; null where the API is gone */
  lowest_in_4_0: number | null;
}

/** the starts by time */
export interface Starts {
  n: number;
  listed: Start[];
}

/** a start with its words */
export interface Start {
  /** client_instance_id and the number of the start */
  startup_id: string;
  /** client instance: the same whatever the buckets, partitions or machine */
  client_instance_id: string;
  /** 1 for the first start */
  start_no: number;
  /** first SYN or first request; a name looked up before it is a step, no part of the total (nanoseconds since the epoch) */
  start_ns: number;
  /** first records, first produce acknowledged, or first answer (admin); null unless ready (nanoseconds since the epoch) */
  ready_ns: number | null;
  /** from start to ready, milliseconds */
  total_ms: number | null;
  /** the same, microseconds: durations and waits of the critical path add up to it */
  total_us: number | null;
  /** how it went */
  outcome: Literal;
  /** step at which it failed */
  failed_step: "dns" | "tcp_connect" | "tls_handshake" | "api_versions" | "sasl_handshake" | "sasl_authenticate" | "metadata" | "find_coordinator_group" | "find_coordinator_txn" | "find_coordinator_share" | "init_producer_id" | "join_group" | "sync_group" | "consumer_group_heartbeat" | "share_group_heartbeat" | "streams_group_heartbeat" | "offset_fetch" | "offset_for_leader_epoch" | "list_offsets" | "first_fetch" | "first_records" | "add_partitions_to_txn" | "first_produce" | "first_produce_ack" | "first_heartbeat" | "first_commit" | "admin_request" | null;
  /** address, group, transactional id or mechanism at which it failed */
  failed_subject: string | null;
  /** error at that step */
  error_name: string | null;
  /** steps that made the total, in order */
  critical_path: string[];
  /** what such a client is expected to do: kind of client / library */
  expected_sequence: string;
  /** steps that it cannot do without, in order */
  expected_steps: string[];
  /** of them, those that it did not take */
  missing_steps: string[];
  /** steps that such a client does not take */
  extra_steps: string[];
  /** steps taken again on one subject, or after a failure */
  repeated_steps: string[];
  /** steps first taken before those that they depend on had succeeded */
  out_of_order_steps: string[];
  /** connections of the start */
  n_connections: number;
  /** incident that a failed start belongs to; null where it belongs to none */
  incident_id: string | null;
  /** request ids that prove outcome and time */
  evidence: string[];
  /** the three longest parts of the critical path */
  slowest: SlowPart[];
  /** its steps */
  n_steps: number;
  /** the first 60 and last 20 */
  steps: StartupStepRow[];
  heading: string;
  ended: string;
  in_short: string;
  slowest_text: string;
  to_ns: number | null;
}

/** a part of the critical path */
export interface SlowPart {
  /** step */
  step: string;
  /** what the step is about */
  subject: string | null;
  /** node */
  node_id: number | null;
  /** whom it waited for */
  who: "client" | "broker" | "network";
  /** how long */
  us: number;
}

/** a row of startup_steps */
export interface StartupStepRow {
  /** the start */
  startup_id: string;
  /** order within the start, from 1 */
  seq: number;
  /** phase of the start */
  phase: Literal;
  /** step */
  step: "dns" | "tcp_connect" | "tls_handshake" | "api_versions" | "sasl_handshake" | "sasl_authenticate" | "metadata" | "find_coordinator_group" | "find_coordinator_txn" | "find_coordinator_share" | "init_producer_id" | "join_group" | "sync_group" | "consumer_group_heartbeat" | "share_group_heartbeat" | "streams_group_heartbeat" | "offset_fetch" | "offset_for_leader_epoch" | "list_offsets" | "first_fetch" | "first_records" | "add_partitions_to_txn" | "first_produce" | "first_produce_ack" | "first_heartbeat" | "first_commit" | "admin_request";
  /** what it is about: address, group, topic-partition, mechanism */
  subject: string | null;
  /** connection */
  conn_id: string;
  /** node */
  node_id: number | null;
  /** when it began (nanoseconds since the epoch) */
  start_ns: number;
  /** when it ended (nanoseconds since the epoch) */
  end_ns: number;
  /** from begin to end, microseconds */
  duration_us: number;
  /** last byte of the request, or of the answer before it on the connection, to first byte of the answer, microseconds */
  broker_us: number | null;
  /** what the broker did in it */
  broker_why: Literal | null;
  /** rest of the duration: bytes on the way, the TCP and TLS handshakes; microseconds */
  network_us: number;
  /** time before it with nothing in flight (critical path: since the step before), microseconds */
  wait_us: number;
  /** what the client waited for */
  wait_why: Literal | null;
  /** 1, and one more after each try of this step on this subject that failed */
  attempt: number;
  /** how it ended */
  outcome: Literal;
  /** error of the answer */
  error_name: string | null;
  /** whether it made the total */
  on_critical_path: boolean;
  /** requests that prove it */
  request_ids: string[];
}

/** recoveries by time, and those of one cause together */
export interface Episodes {
  n: number;
  listed: Recovery[];
  causes: Cause[];
}

/** a recovery with its words and steps */
export interface Recovery {
  /** episode */
  recovery_id: string;
  /** client instance: the same whatever the buckets, partitions or machine */
  client_instance_id: string;
  /** client id */
  client_id: string | null;
  /** the same for all episodes of one cause */
  cause_id: string | null;
  /** what broke */
  resource_kind: "partition" | "group" | "transaction" | "coordinator" | "connection" | "authentication" | null;
  /** topic-partition, group, transactional id, coordinator key or address */
  resource: string | null;
  /** first error */
  first_error_name: string | null;
  /** API that it answered; null for a connection's failure */
  first_api_key: number | null;
  /** all errors, in order of appearance */
  error_names: string[] | null;
  /** errors */
  n_errors: number | null;
  /** what such a client should do next */
  expected_reaction: string | null;
  /** what it did */
  reaction: string | null;
  /** how it ended: recovered; served_elsewhere (the client did not need it again: other brokers served it, or, of a topic-partition, its group went on); still_open at the end of the capture; gave_up (the client did other work and did not try again); client_ended (the client ended first); fatal (trying again does not help); wrong_reaction */
  outcome: "recovered" | "served_elsewhere" | "still_open" | "gave_up" | "client_ended" | "fatal" | "wrong_reaction" | null;
  /** what the client did that the expected reaction does not have (wrong_reaction) */
  wrong_why: string | null;
  /** more than 10 errors in a second, or more than 50 */
  storm: boolean | null;
  /** first error (nanoseconds since the epoch) */
  start_ns: number | null;
  /** request or SYN that the first error left without an answer; null where it was an answer (nanoseconds since the epoch) */
  failing_ns: number | null;
  /** first Metadata answer after it (nanoseconds since the epoch) */
  refreshed_ns: number | null;
  /** first FindCoordinator answer after it (nanoseconds since the epoch) */
  rediscovered_ns: number | null;
  /** first new connection after it (nanoseconds since the epoch) */
  reconnected_ns: number | null;
  /** first SASL exchange after it (nanoseconds since the epoch) */
  reauthenticated_ns: number | null;
  /** first JoinGroup or group heartbeat that joined after it (nanoseconds since the epoch) */
  rejoined_ns: number | null;
  /** first request on the resource after it (nanoseconds since the epoch) */
  retried_ns: number | null;
  /** first success on the resource after it (nanoseconds since the epoch) */
  recovered_ns: number | null;
  /** first error to first success, milliseconds; null where no file covers a part of that time */
  time_to_recover_ms: number | null;
  /** what made the client learn of the new owner */
  refresh_trigger: "error" | "hint" | "age" | null;
  /** time that brokers had: answers, elections, loading; microseconds */
  lost_broker_us: number | null;
  /** time that the client paused, microseconds */
  lost_backoff_us: number | null;
  /** time until the client knew better than its metadata, microseconds */
  lost_stale_us: number | null;
  /** time for connections, their greeting and authentication, microseconds */
  lost_connecting_us: number | null;
  /** requests on the resource that failed */
  n_wasted_requests: number | null;
  /** of those sent after the first error, the ones that still went to the old node */
  n_stale_requests: number | null;
  /** from the first error to the last of them, microseconds */
  stale_us: number | null;
  /** node that failed */
  old_node_id: number | null;
  /** node that answered */
  new_node_id: number | null;
  /** incident that it belongs to; null where it belongs to none */
  incident_id: string | null;
  /** request ids or conn_ids that prove it */
  evidence: string[] | null;
  n_steps: number;
  steps: RecoveryStep[];
  heading: string;
  ended: string;
  sentences: string[];
}

/** a step with its words; at: after the first error */
export interface RecoveryStep {
  /** the episode */
  recovery_id: string;
  /** order within the episode, from 1 */
  seq: number;
  /** step */
  step: "error" | "backoff" | "hint" | "metadata" | "find_coordinator" | "reconnect" | "api_versions" | "authenticate" | "join_group" | "sync_group" | "heartbeat" | "init_producer_id" | "list_offsets" | "offset_for_leader_epoch" | "end_txn" | "retry" | "success";
  /** connection */
  conn_id: string | null;
  /** node */
  node_id: number | null;
  /** when (nanoseconds since the epoch) */
  ts_ns: number | null;
  /** how long it took, microseconds */
  duration_us: number | null;
  /** request that proves it */
  request_id: string | null;
  /** error */
  error_name: string | null;
  text: string;
  at: string;
  took: string;
}

/** recoveries of a client from one cause */
export interface Cause {
  client_instance_id: string;
  worst: string;
  alike: string[];
  recovery_ids: string[];
  heading: string;
  outcome: string | null;
  ended: string;
}

/** rebalances by time */
export interface Rebalances {
  present: boolean;
  n: number;
  listed: Rebalance[];
  groups: Group[];
}

/** a row of stories/rebalances */
export interface Rebalance {
  /** the generation: the same for the same capture */
  rebalance_id: string;
  /** group */
  group_id: string;
  /** protocol */
  group_protocol: "classic" | "consumer" | "share" | "streams";
  /** what a classic group is for: consumer, connect, ...; null for other protocols */
  protocol_type: string | null;
  /** coordinator */
  node_id: number | null;
  /** generation or group epoch; null where it never came to one in the capture */
  generation: number | null;
  /** what made it */
  trigger: "member_joined" | "member_left" | "member_evicted" | "subscription_changed" | "partitions_revoked" | "coordinator_moved" | "first" | "unknown";
  /** what shows that, in a sentence */
  trigger_why: string;
  /** member id of the member that made it */
  trigger_member: string | null;
  /** first sign of it: the join, leave or heartbeat that began it (nanoseconds since the epoch) */
  start_ns: number | null;
  /** when the last member had its assignment (nanoseconds since the epoch) */
  end_ns: number | null;
  /** start to end, milliseconds */
  duration_ms: number | null;
  /** how it ended: all members seen had their assignment; another one began before; open when the capture ended; a static member's place was taken over, with no new generation; its making is not in the capture */
  outcome: "stable" | "superseded" | "open" | "taken_over" | "unseen";
  /** whether members stop for all of it, or for the partitions that move */
  mode: "eager" | "cooperative" | "incremental" | null;
  /** assignor or protocol that was chosen, where the capture shows it */
  assignor: string | null;
  /** member that assigns (classic) */
  leader: string | null;
  /** members */
  n_members: number;
  /** members: joined_ns (its join was sent; epoch reached), synced_ns (it had its assignment), join_ms and sync_ms (the coordinator's time for its join and sync), partitions assigned (tasks for streams, connectors and tasks for connect), gained and lost since the generation before */
  members: Member[];
  /** whether the capture shows all members (the leader's traffic), not some */
  members_complete: boolean;
  /** member that joined last: who the others waited for */
  last_joiner: string | null;
  /** partitions that changed their owner */
  n_moved: number;
  /** longest unread_ms of a partition; null where none was unread */
  unread_ms: number | null;
  /** topic-partitions that changed their owner, or that nobody in the group read meanwhile, by name: owner_before and owner_after (member ids; null for nobody, or where the capture does not show it), and the time in which accepted records waited and no Fetch of the group brought any: unread_from_ns, unread_to_ns (null: until the capture ended) and unread_ms; all null where nothing waited for longer than the group's usual pause, or where the capture does not show since when records were there (by their producer, a follower or another reader). It is the wait of a row of stalls of the kind consume, shorter ones included; one that lasts through several rebalances is in each of them */
  partitions: ReassignedPartition[];
  /** members of the generation before that are in it no more: how (left: it said so; evicted: it was silent; replaced: another took its group.instance.id), and when its last request was seen */
  departed: DepartedMember[];
  /** offset commits refused because of it */
  n_refused_commits: number;
  /** the first of them, as request ids */
  refused_commits: string[];
  /** request ids refused with FENCED_INSTANCE_ID or UNRELEASED_INSTANCE_ID meanwhile */
  fenced: string[];
  /** records between the last offsets that the generation committed and the ends of their partitions then, as Fetch responses gave them; null where the capture does not show both */
  lag_records: number | null;
  /** partitions of which it shows both */
  n_lag_partitions: number | null;
  /** incident that it belongs to; null where it belongs to none */
  incident_id: string | null;
  /** request ids that prove trigger, generation and assignments, in order of time */
  evidence: string[];
  /** the partitions that were unread, in words; empty where none was */
  unread_text: string;
  /** client id of the last to join */
  last_joiner_client_id: string | null;
}

/** a member of a group */
export interface Member {
  member_id: string;
  client_instance_id: string | null;
  joined_ns: number | null;
  synced_ns: number | null;
  client_id: string | null;
  group_instance_id: string | null;
  conn_id: string | null;
  is_new: boolean;
  join_ms: number | null;
  sync_ms: number | null;
  session_timeout_ms: number | null;
  rebalance_timeout_ms: number | null;
  assigned: string[];
  standby: string[];
  gained: string[];
  lost: string[];
}

/** a topic-partition that changed its owner or was unread around a rebalance */
export interface ReassignedPartition {
  /** topic */
  topic: string;
  /** partition */
  partition: number;
  /** member id of who had it before; null for nobody, or where it is not known */
  owner_before: string | null;
  /** member id of who has it next; null likewise */
  owner_after: string | null;
  /** since when a record waited that nobody in the group fetched */
  unread_from_ns: number | null;
  /** when one was fetched; null: the capture ended before */
  unread_to_ns: number | null;
  /** from the one to the other; null where none waited, milliseconds */
  unread_ms: number | null;
}

/** a member that is gone */
export interface DepartedMember {
  member_id: string;
  client_instance_id: string | null;
  client_id: string | null;
  group_instance_id: string | null;
  how: "left" | "evicted" | "replaced" | "unknown";
  why: string | null;
  last_seen_ns: number | null;
  silent_ms: number | null;
  session_timeout_ms: number | null;
  request_id: string | null;
}

/** a group with the places of its rebalances */
export interface Group {
  name: string;
  in_short: string;
  places: number[];
}

/** transactions by time */
export interface Transactions {
  present: boolean;
  n: number;
  listed: Transaction[];
  ids: TransactionalId[];
  outcomes: Record<string, number>;
}

/** a transaction with how long it took, the name of the client that fenced it, and whose reads it held back */
export interface Transaction {
  /** number of the transaction of its transactional id in the capture, from 1 */
  transaction_no: number | null;
  /** transactional id; null where only consumers show the transaction, held back by it */
  transactional_id: string | null;
  /** producer id */
  producer_id: number | null;
  /** producer epoch */
  producer_epoch: number | null;
  /** protocol: v2 (KIP-890) or v1; null where the wire does not show it */
  transactions: "v1" | "v2" | null;
  /** client */
  client_instance_id: string | null;
  /** first request that belongs to it; null where it began before the capture (nanoseconds since the epoch) */
  begin_ns: number | null;
  /** answer that ended it; null where none did (nanoseconds since the epoch) */
  end_ns: number | null;
  /** how it ended: fenced (another instance took the id over), hanging (left open by a client that went away, or longer than its timeout), open (at the end of the capture), cut (it began before the capture, or its end is not in it; see end_kind) */
  outcome: "committed" | "aborted" | "fenced" | "hanging" | "open" | "cut";
  /** topic-partitions written, sorted */
  partitions: string[];
  /** groups whose offsets it commits, sorted */
  offset_groups: string[];
  /** record batches that no answer refused, each counted once however often it was sent */
  n_batches: number;
  /** records in them */
  n_records: number;
  /** markers written for it, where traffic between brokers shows them */
  n_markers: number;
  /** client instance that took its transactional id over while it was open or its client lived */
  fenced_by: string | null;
  /** what ended it: EndTxn (commit, abort), the coordinator (its timeout was over), InitProducerId; null where nothing did */
  end_kind: "commit" | "abort" | "coordinator" | "init_producer_id" | null;
  /** what the answer to its EndTxn says; null where none was sent */
  verdict: "confirmed" | "claimed" | "refused" | null;
  /** begin to end, or to the end of the capture where it still was open, milliseconds */
  duration_ms: number | null;
  /** transaction.timeout.ms of its producer, as InitProducerId says */
  transaction_timeout_ms: number | null;
  /** InitProducerId that took its transactional id over (nanoseconds since the epoch) */
  fenced_ns: number | null;
  /** when its client went away and left it open (nanoseconds since the epoch) */
  left_ns: number | null;
  /** errors in answers to its requests, sorted */
  error_names: string[];
  /** incident that one which was not committed belongs to; null where it belongs to none */
  incident_id: string | null;
  /** request ids that prove it, in order of time; at most 32 */
  evidence: string[];
  /** read_committed consumers that could not read past it: the partition, the last stable offset that stayed there, first and last answer that shows it (nanoseconds since the epoch), records behind it, the last such Fetch */
  held_back: BlockedConsumer[];
  /** begin to end */
  duration_us: number | null;
  /** client id of the instance that took its transactional id over */
  fenced_by_client_id: string | null;
  took: string;
  fenced_by_name: string;
  held_back_text: string;
}

/** a read_committed consumer that could not read past a transaction */
export interface BlockedConsumer {
  client_instance_id: string | null;
  partition: string;
  last_stable_offset: number;
  from_ns: number;
  until_ns: number;
  records: number;
  request_id: string;
}

/** a transactional id with the places of its transactions */
export interface TransactionalId {
  name: string;
  places: number[];
}

/** the first MOST_FLOWS topics and readers; more: how many others there are */
export interface Flow {
  present: boolean;
  why_not: string | null;
  slice_length: string;
  n: number;
  more: string;
  listed: TopicFlow[];
}

/** a topic and who reads it */
export interface TopicFlow {
  topic: string;
  reader: string;
  figures: string[];
  sentence: string;
  lags: LagBand[];
  heading: string;
  partitions: string[][];
  more_partitions: string;
  slices: string[][];
}

/** a slice at whose end the reader was behind; share: of the most that it was behind */
export interface LagBand {
  from_ns: number;
  to_ns: number;
  share: number;
}

/** findings, and places in `listed` of those that belong to no incident: `alone` are those above info, `notes` the others */
export interface Findings {
  /** whether the dataset has the table */
  present: boolean;
  /** why it has not, and what to do */
  why_not: string | null;
  /** findings */
  n: number;
  /** findings by severity */
  by_severity: Record<string, number>;
  /** findings, the gravest first, at most 200 */
  listed: Finding[];
  title: string;
  alone: number[];
  notes_title: string;
  notes: number[];
}

/** what a rule found, about one client or about several of which it says the same */
export interface Finding {
  /** the diagnosis; of several rows the one that was seen most often */
  finding_id: string;
  /** the rows of table findings that it stands for */
  finding_ids: string[];
  /** incident that it is a consequence of; null where it stands alone */
  incident_id: string | null;
  /** rule that found it: `kafkascope rules` lists them */
  rule: string;
  /** error (broken), warning (will break, or costs) or info (worth knowing) */
  severity: string;
  /** what was found */
  sentence: string;
  /** the sentence of each row, where it stands for several */
  sentences: string[];
  /** what to change */
  advice: string | null;
  /** what it is about: an address, group, topic-partition, transactional id, ... */
  subject: string | null;
  /** client that it is about; null where it is about none or several */
  client_instance_id: string | null;
  /** names of the first 20 clients that it is about */
  clients: string[];
  /** clients that it is about */
  n_clients: number;
  /** how many times it was seen */
  n: number;
  /** first of them */
  first_ns: number | null;
  /** last of them */
  last_ns: number | null;
  /** how often, and from when to when */
  when: string;
  /** connections that it is about */
  n_connections: number;
  /** the first 50 of them */
  conn_ids: string[];
  /** requests and connections that prove it */
  n_evidence: number;
  /** the first 20 of them */
  evidence: Proof[];
  /** their packets in words */
  packets: string;
  /** the command that cuts its packets out; OUT.kscope stands for the dataset */
  cut: string;
}

/** a start or a recovery */
export interface Band {
  client_instance_id: string;
  kind: string;
  from_ns: number;
  to_ns: number | null;
  title: string;
  lines: string[];
  steps_at_ns: number[];
  steps: string[];
}

/** a family of APIs */
export interface Family {
  name: string;
  title: string;
  pattern: string;
}

/** a request; took: its latency in words */
export interface Evidence {
  conn_id: string;
  api_name: string | null;
  api_version: number | null;
  ts_ns: number;
  error_name: string | null;
  status: string;
  node_id: number | null;
  request_packet_no: number | null;
  response_packet_no: number | null;
  took: string;
}

/** the brokers, what changed, and who owned what */
export interface ClusterStory {
  brokers: TopologyBroker[];
  n_changes: number;
  changes: Change[];
  presence: BrokerPresence[];
  owners: Owner[];
}

/** a node with what it is advertised as, its addresses and connections */
export interface TopologyBroker {
  request_id: string | null;
  api_name: string | null;
  packet_no: number | null;
  capture_id: number | null;
  node_id: number;
  advertised: string[];
  rack: string | null;
  addresses: string[];
  n_connections: number;
  listed: boolean | null;
  since_ns: number | null;
  source: string;
}

/** a change with its sentence */
export interface Change {
  request_id: string | null;
  api_name: string | null;
  packet_no: number | null;
  capture_id: number | null;
  ts_ns: number;
  last_ns: number;
  kind: string;
  subject: string;
  what: string;
  node_id: number | null;
  from: number | null;
  to: number | null;
  partitions: number[];
  epochs: number[];
  text: string;
}

/** a broker that left the lists of Metadata or came back */
export interface BrokerPresence {
  at_ns: number;
  node_id: number;
  what: string;
}

/** the nodes that owned something, and since when each */
export interface Owner {
  kind: string;
  subject: string;
  node_ids: (number | null)[];
  since_ns: number[];
}

/** the lane of a broker */
export interface BrokerLane {
  node_id: number | null;
  label: string;
  short_label: string;
  serving: Stretch[];
  failing: Stretch[];
  outcome: string;
  in_short: string;
}

/** a stretch with its times in words */
export interface Stretch {
  state: string;
  from_ns: number;
  to_ns: number | null;
  hosts: string[];
  text: string;
  begun: string;
  ended: string;
  lasted: string;
}

/** a stall */
export interface StallBand {
  client_instance_id: string | null;
  node_id: number | null;
  from_ns: number;
  to_ns: number | null;
  waited_ms: number;
  text: string;
}

/** the capture with its words */
export interface Capture {
  /** the files read, in order */
  files: FileRead[];
  /** first packet */
  start_ns: number | null;
  /** last packet */
  end_ns: number | null;
  /** first packet, for people (UTC) */
  start: string | null;
  /** first to last packet */
  duration_us: number | null;
  /** packets */
  n_packets: number;
  /** packets that the snap length cut */
  n_truncated: number;
  /** packets that show another once more */
  n_duplicates: number;
  /** packets that the capturing program dropped; null where no file says it */
  n_dropped: number | null;
  /** times between the files that none of them covers */
  uncovered: UncoveredTime[];
  /** where the bytes of the streams went */
  ledger: ByteTotals;
  title: string;
  facts: string[];
  unread: string[];
  dataset: string;
  origin: string;
}

/** a file that was read */
export interface FileRead {
  /** file name as given */
  path: string | null;
  /** file format */
  format: "pcap" | "pcapng" | null;
  /** link-layer types of its interfaces, comma separated */
  linktype: string | null;
  /** longest packet part kept, bytes; 0 is no limit */
  snaplen: number | null;
  /** packets in the file */
  n_packets: number | null;
  /** packets cut by the snap length */
  n_truncated: number | null;
  /** packets the capturing program says it dropped; null where it does not say */
  n_dropped: number | null;
  /** packets that the file shows once more: several interfaces, port mirroring; not counted */
  n_duplicates: number | null;
  /** size of the file */
  size_bytes: number | null;
  /** first byte of the unpacked file that could not be read; null where all could */
  cut_at_byte: number | null;
  /** why it could not be read */
  cut_why: string | null;
  /** bytes of the unpacked file that could not be read, there and further on */
  unread_bytes: number | null;
  /** packets whose time cannot be (before 1970, or later than 2099); each has the time of the packet before it */
  n_wrong_times: number | null;
  /** how often the time goes forward or back by 30 days or more from one packet to the next: the clock was set, or times are wrong */
  n_leaps: number | null;
  /** time of the first packet (nanoseconds since the epoch) */
  first_ns: number | null;
  /** time of the last packet (nanoseconds since the epoch) */
  last_ns: number | null;
  /** capture point that recorded it; null without --capture-points */
  capture_point: string | null;
  /** capture point whose clock all times of the file are given by; the point itself where it shares no connection with another */
  clock_reference: string | null;
  /** how the clock differs from the reference: not at all as it is the reference, by a constant, by a constant drift, or by steps */
  clock_kind: "reference" | "constant" | "drift" | "steps" | null;
  /** by how much the clock of the file was ahead of the reference at its first packet, nanoseconds; all times have been corrected by it */
  clock_ahead_ns: number | null;
  /** by how much the correction may be wrong, nanoseconds */
  clock_uncertainty_ns: number | null;
}

/** a time that no file covers */
export interface UncoveredTime {
  /** last packet before it */
  from_ns: number;
  /** first packet after it */
  to_ns: number;
  /** the same for people, since the capture's start */
  text: string;
}

/** where the bytes of the streams went */
export interface ByteTotals {
  /** bytes of all TCP directions: decoded_bytes + undecoded_bytes */
  stream_bytes: number;
  /** bytes in decoded frames */
  decoded_bytes: number;
  /** bytes that did not decode; `unread` says why */
  undecoded_bytes: number;
  /** bytes that the capture lacks */
  missing_bytes: number;
  /** bytes of ZooKeeper's protocol, which are among undecoded_bytes */
  zookeeper_bytes: number;
}

/** clients by the time they were first seen, brokers after all others; connections by their client and time */
export interface Lanes {
  clients: LaneClient[];
  connections: LaneConnection[];
  n_connections: number;
  events: TcpEvents;
}

/** a client instance, or an address whose connections belong to none */
export interface LaneClient {
  /** client instance: the same whatever the buckets, partitions or machine */
  client_instance_id: string;
  /** client id */
  client_id: string | null;
  /** address */
  client_ip: string | null;
  /** what it is */
  kind: "consumer" | "producer" | "transactional_producer" | "share_consumer" | "streams" | "admin" | "connect" | "broker" | "unknown" | "unassigned";
  /** client software */
  software_name: string | null;
  /** its version */
  software_version: string | null;
  /** principal, where the capture shows one */
  principal: string | null;
  /** group protocol */
  group_protocol: "classic" | "consumer" | "share" | "streams" | "none" | null;
  /** group */
  group_id: string | null;
  /** static member id */
  group_instance_id: string | null;
  /** transactional id */
  transactional_id: string | null;
  /** transaction protocol */
  transactions: "v1" | "v2" | "none" | null;
  /** whether these connections are one client object for sure */
  identity: "sole" | "shared" | null;
  /** how it was distinguished from others of the same name */
  identity_why: string | null;
  /** how it ended */
  end_state: "closed" | "died" | "evicted" | "open" | null;
  /** first segment of its connections (nanoseconds since the epoch) */
  first_ns: number | null;
  /** last segment of its connections (nanoseconds since the epoch) */
  last_ns: number | null;
  /** requests */
  n_requests: number | null;
  /** non-zero error codes in the answers */
  n_errors: number | null;
  n_connections: number;
  conns: number[];
  name: string;
  what: string;
  software: string;
  facts: string[];
  start: string | null;
  start_outcome: string | null;
  outcome: string;
  trouble: string;
}

/** a connection */
export interface LaneConnection {
  /** connection: the same however the capture was cut or bucketed */
  conn_id: string;
  /** address of the client */
  client_ip: string | null;
  /** port of the client */
  client_port: number | null;
  /** address of the server */
  server_ip: string | null;
  /** port of the server */
  server_port: number | null;
  /** node id of the server; null where the capture does not show it */
  node_id: number | null;
  /** what it speaks */
  protocol: "kafka" | "tls" | "http" | "zookeeper" | "other" | "empty" | null;
  /** first segment (nanoseconds since the epoch) */
  first_ns: number;
  /** last segment (nanoseconds since the epoch) */
  last_ns: number;
  /** how it ended */
  close_kind: "fin_client" | "fin_server" | "rst_client" | "rst_server" | "open" | "refused" | "unanswered" | null;
  /** the role that most of its requests served */
  primary_role: "bootstrap" | "partition_leader" | "follower_fetch" | "group_coordinator" | "share_coordinator" | "transaction_coordinator" | "controller" | "inter_broker" | "admin" | "telemetry" | null;
  /** SASL mechanism asked for */
  sasl_mechanism: string | null;
  /** TLS version of the server's hello */
  tls_version: string | null;
  /** requests seen */
  n_requests: number | null;
  /** non-zero error codes in its responses */
  n_errors: number | null;
  /** first FIN or RST (nanoseconds since the epoch) */
  close_ns: number | null;
  /** user whom the broker let in: of the first SASL token, where PLAIN or SCRAM shows one */
  principal: string | null;
  /** client ids of its requests, in order of appearance */
  client_ids: string[];
  from: string;
  to: string;
  client: number;
  /** roles of the connection, sorted */
  roles: LaneRole[];
  family: number | null;
}

/** what a connection did since when */
export interface LaneRole {
  /** the role */
  role: "bootstrap" | "partition_leader" | "follower_fetch" | "group_coordinator" | "share_coordinator" | "transaction_coordinator" | "controller" | "inter_broker" | "admin" | "telemetry";
  text: string;
  first_ns: number | null;
  family: number;
}

/** what TCP did on the lanes, as columns in the order of the lanes */
export interface TcpEvents {
  conn: number[];
  at_ns: number[];
  event: string[];
  side: (string | null)[];
  packet_no: (number | null)[];
}

/** what the columns of the requests mean, and how many requests they stand for */
export interface Requests {
  n: number;
  n_kept: number;
  n_unplaced: number;
  stretches: Record<string, number>;
  unit: number;
  apis: string[];
  families: number[];
  errors: string[];
  groups: string[];
  transactional_ids: string[];
  client_ids: string[];
  topics: string[];
}
