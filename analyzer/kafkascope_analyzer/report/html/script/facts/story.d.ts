// Made by scripts/reference_pages.py from the dataclasses of the report and of the page: change those.
// Times (`*_ns`) are nanoseconds since the capture's start.

/** all data of the page besides the requests' columns */
export interface Story {
  headline: Headline;
  incidents: Incidents;
  first_waits: number;
  commands: Commands;
  state_grid: StateGrid;
  cluster: Cluster;
  errors: Errors;
  unread: DataQuality;
  stories: Presence;
  request_rates: RequestRates;
  latency: BrokerLatency;
  latency_over_time: LatencyOverTime;
  leaders: Leaders;
  restarts: Restarts;
  client_traffic: AllClientTraffic;
  removed_versions: RemovedVersions;
  service_levels: ServiceLevels;
  racks: Racks;
  security: Security;
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

/** the headline of the report */
export interface Headline {
  /** the worst of all incidents, stalls, failed starts and findings */
  verdict: string;
  /** what failed */
  sentence: string;
  /** the clients that stalled and for how long, failed starts, findings without an incident */
  details: string[];
}

/** all incidents, worst first, with the stalls that belong to none */
export interface Incidents {
  /** incidents above severity info that are not consequences of another */
  n: number;
  /** incidents above severity info, the most harmful first: at most 100 */
  listed: Incident[];
  /** the routine incidents in one line; empty where there are none */
  routine_text: string;
  /** the routine incidents by time: at most 100 */
  routine: Incident[];
  /** lines of stalls that belong to no incident */
  n_unassigned: number;
  /** stalls that belong to no incident: the first 50 lines */
  unassigned: Wait[];
}

/** a failure, with the clients that stalled because of it and its consequences */
export interface Incident {
  /** the incident */
  incident_id: string;
  /** error, warning or info: the worst of the incident and those that followed from it */
  severity: string;
  /** what failed, in a few words */
  title: string;
  /** what failed, from when to when, and how the packets show it */
  sentence: string;
  /** what each owner should do, one entry per owner */
  actions: OwnerAction[];
  /** how the capture shows it, how certain the place is, and the clients that were served meanwhile */
  how_known: string;
  /** time of the failure */
  start_ns: number;
  /** time at which the last stalled client was served again, gave up or ended; null where one was still waiting */
  end_ns: number | null;
  /** whether the capture shows that it is over, both for the affected clients and for the fault itself */
  over: boolean;
  /** the same in a word: yes; no; not seen (its clients gave up, and nobody tried again) */
  over_text: string;
  /** beginning, end and duration, in words */
  when: string;
  /** beginning of the fault itself, apart from its effect on clients */
  fault_start: Moment;
  /** end of the fault itself; null where the capture does not show that */
  fault_end: Moment | null;
  /** time from the beginning of the fault until the last client was served again, and how often the fault occurred, if several times; empty where nobody stalled */
  served_after: string;
  /** number of clients that stalled, or had to recover, and for how long */
  who: string;
  /** lines in the table of stalled clients */
  n_waits: number;
  /** the first 50 lines of stalled clients, those not over first, then the longest */
  waits: Wait[];
  /** its course in order of time; empty where no other broker took over */
  course: CourseLine[];
  /** restarts of the broker that cause it, in words: time, duration, release */
  restarts: string[];
  /** consequences of the incident */
  followed: Consequence[];
  /** number of consequences of each kind in one line; empty without any */
  followed_text: string;
  /** findings that are consequences of it and do not only repeat it: they are in findings.listed */
  finding_ids: string[];
  /** the first 20 of them */
  evidence: Proof[];
  /** their packets in words */
  packets: string;
}

/** the action that one owner should take */
export interface OwnerAction {
  /** the owner: operator of the brokers, operator of the network, owner of clients of a library */
  owner: string;
  /** what to do, with the observed values */
  text: string;
}

/** the time at which a fault began or ended, as far as packets show it */
export interface Moment {
  /** the first packet that shows that it had happened */
  by_ns: number;
  /** the time after the capture's start; `a - b` for a time between two packets */
  at: string;
  /** that time as time of day (UTC) */
  of_day: string;
  /** whether the two packets are apart */
  is_between: boolean;
}

/** stalls of one client for one service: a line of the table of stalled clients */
export interface Wait {
  /** client id, else its address or its group */
  who: string;
  /** client */
  client_instance_id: string | null;
  /** service that it waited for, with its topic-partition, group or transactional id */
  what: string;
  /** beginning of the wait */
  from_ns: number;
  /** end of the wait; null where it was not over */
  to_ns: number | null;
  /** beginning of the wait, after the capture's start */
  at: string;
  /** the same as time of day (UTC) */
  of_day: string;
  /** the same in words */
  lasted: string;
  /** over, still waiting, or that the client gave up or ended */
  state: string;
  /** the outcome as a word: the first in the list that one of these stalls had */
  outcome: "still_open" | "gave_up" | "not_captured" | "served";
  /** errors in their responses */
  error_names: string[];
}

/** a step in the course of a failure, with the packet that shows it */
export interface CourseLine {
  /** name of the step, as in table incidents, in words */
  step: string;
  /** time after the capture's start */
  at: string;
  /** the same as time of day (UTC) */
  of_day: string;
  /** packet that shows it; null where the capture does not show which */
  packet_no: number | null;
  /** what happened in the step */
  what: string;
}

/** consequences of an incident of one kind, counted */
export interface Consequence {
  /** incidents, recoveries, rebalances, transactions, leaders, coordinators or findings */
  kind: string;
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
}

/** the commands that are given once, after the incidents and findings */
export interface Commands {
  /** explains the worst incident, else the worst finding; empty where there is neither */
  explain: string;
  /** cuts its packets out; empty where there is neither */
  cut: string;
  /** opens the file with these packets in Wireshark; empty where there is neither */
  wireshark: string;
  /** which other ids these commands take; empty where there are none */
  likewise: string;
}

/** the grid of brokers and hosts */
export interface StateGrid {
  servers: GridServer[];
  more: string;
  states: tuple[];
  n_failing: number;
}

/** a server address with the hosts that talked to it */
export interface GridServer {
  label: string;
  hosts: GridHost[];
  more: string;
}

/** a host that talked to the server */
export interface GridHost {
  host: string;
  kind: string;
  stretches: GridStretch[];
}

/** a span of time in one state */
export interface GridStretch {
  state: string;
  words: string;
  from_ns: number;
  to_ns: number | null;
  text: string;
}

/** the brokers */
export interface Cluster {
  /** brokers by node id, at most 200 */
  brokers: Broker[];
}

/** a broker */
export interface Broker {
  /** node id */
  node_id: number;
  /** addresses at which it answered, the most common first */
  addresses: string[];
  /** addresses that it advertises */
  advertised: string[];
  /** rack */
  rack: string | null;
  /** connections to it */
  n_connections: number;
  /** requests on them, of encrypted ones by the lengths of TLS records; null where the report is restricted to parts of connections, as for n_errors */
  n_requests: number | null;
  /** non-zero error codes in its responses */
  n_errors: number | null;
}

/** error codes in the brokers' responses */
export interface Errors {
  /** pairs, the most frequent first, at most 40 */
  kinds: ErrorKind[];
}

/** an error code in the responses of an API */
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

/** bytes, packets and connections that the capture does not show in full */
export interface DataQuality {
  /** stream bytes that are not decoded frames, by reason */
  undecoded: UndecodedReason[];
}

/** a reason for which bytes did not decode */
export interface UndecodedReason {
  /** why */
  reason: "gap" | "mid_stream_start" | "not_kafka" | "tls" | "unknown_api" | "unknown_version" | "malformed_body" | "trailing_zeros" | "oversize" | "truncated_by_snaplen" | "sasl_token" | "orphan_response" | "capture_end" | "connection_end" | "zookeeper" | "tls_overhead" | "unknown";
  /** stretches */
  n: number;
  /** their bytes */
  bytes: number;
}

/** whether Spark's stories, or those for a section of the report, are in the dataset */
export interface Presence {
  /** whether the dataset has the table */
  present: boolean;
  /** why the dataset lacks it, and what to do */
  why_not: string | null;
}

/** requests over the capture, by family of APIs */
export interface RequestRates {
  /** length of each slot */
  slot_text: string;
  /** families with requests */
  families: FamilyRates[];
}

/** requests of a family of APIs over the capture */
export interface FamilyRates {
  /** family of APIs */
  family: string;
  /** what its requests are for */
  title: string;
  /** title in one word */
  short_title: string;
  /** requests a second in the busiest slot */
  most_per_second: number;
  /** the longest 99th percentile of a slot */
  most_p99_ms: number | null;
  /** the slots with most requests and the longest latency, and failures, in words */
  text: string;
  /** slots with requests, by time */
  slots: RateSlot[];
}

/** requests of a family that were sent in one slot of time */
export interface RateSlot {
  /** begin of the slot */
  from_ns: number;
  /** end of the slot */
  to_ns: number;
  /** requests */
  n: number;
  /** number of them with an error code or without the expected response */
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

/** latency of each broker for each API */
export interface BrokerLatency {
  /** pairs of API and broker */
  n: number;
  /** pairs, those with most requests first, at most 500 */
  listed: LatencyPair[];
}

/** latency of a broker for an API */
export interface LatencyPair {
  /** API */
  api_name: string;
  /** node id of the broker */
  node_id: number | null;
  /** its address, where the node id is not known */
  address: string | null;
  /** answered requests */
  n: number;
  /** last byte of the request, or of the previous response, to first byte of the response, median */
  broker_p50_us: number | null;
  /** 99th percentile */
  broker_p99_us: number | null;
  /** wait for the previous response on the connection and for the throttle time in it, median */
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

/** latency of each broker for clients over the capture */
export interface LatencyOverTime {
  /** length of each slot */
  slot_text: string;
  /** brokers */
  n: number;
  /** brokers by node id, at most 12: those with most requests */
  listed: BrokerOverTime[];
}

/** latency of a broker for clients over the capture */
export interface BrokerOverTime {
  /** node id */
  node_id: number;
  /** slots with requests that it answered, by time */
  slots: LatencySlot[];
}

/** requests that a broker answered, by the slot of time in which they were sent */
export interface LatencySlot {
  /** begin of the slot */
  from_ns: number;
  /** end of the slot */
  to_ns: number;
  /** requests */
  n: number;
  /** median of the broker's time with them (at most 0.8 % low) */
  p50_us: number;
  /** 99th percentile */
  p99_us: number;
  /** from when to when, after the capture's start */
  when: string;
}

/** load of the partition leaders, and how evenly they share it */
export interface Leaders {
  /** bytes of the most loaded broker divided by an even share: 1.0 is even */
  skew: number | null;
  /** brokers by node id, at most 200 */
  listed: LeaderLoad[];
}

/** bytes and requests that clients wrote to and read from a broker */
export interface LeaderLoad {
  /** node id */
  node_id: number;
  /** partitions of which it was the leader */
  n_partitions: number;
  /** Produce requests */
  n_produce: number;
  /** bytes of record batches in them */
  produce_bytes: number;
  /** clients' Fetch requests */
  n_fetch: number;
  /** bytes of record batches in the responses */
  fetch_bytes: number;
}

/** all restarts by time */
export interface Restarts {
  /** restarts */
  n: number;
  /** how many, in which order, and whether releases changed; empty where there is none */
  sentence: string;
  /** restarts by time, at most 100 */
  listed: Restart[];
}

/** one restart of one broker */
export interface Restart {
  /** the broker in words */
  broker: string;
  /** down_ns after the capture's start */
  at: string;
  /** from down_ns to back_ns in words */
  lasted: string;
  /** both releases in words, and whether it came back in another mode (KRaft or ZooKeeper) */
  release: string;
  /** the clients that waited and for how long, in words */
  cost: string;
}

/** produce and Fetch traffic of each client (address and client id) */
export interface AllClientTraffic {
  /** clients that sent or fetched */
  n: number;
  /** clients, those with most bytes first, at most 200 */
  listed: ClientTraffic[];
}

/** produce and Fetch traffic of a client */
export interface ClientTraffic {
  /** address */
  client_ip: string | null;
  /** client id */
  client_id: string | null;
  /** its Produce requests; null without any */
  produce: ProduceTraffic | null;
  /** its Fetch and ShareFetch requests; null without any */
  fetch: FetchTraffic | null;
}

/** produce requests of a client */
export interface ProduceTraffic {
  /** requests */
  n: number;
  /** records */
  n_records: number;
  /** records per request */
  records_a_request: number | null;
  /** bytes per batch: there is one per partition and request */
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
  /** records per request */
  records_a_request: number | null;
  /** responses without records */
  n_empty: number;
  /** most common max_wait_ms */
  max_wait_ms: number | null;
}

/** clients that use API versions that Kafka 4.0 removed (KIP-896) */
export interface RemovedVersions {
  /** uses: client, API, version */
  n: number;
  /** uses, the most frequent first, at most 200 */
  listed: RemovedUse[];
}

/** a client's use of a version that Kafka 4.0 does not have */
export interface RemovedUse {
  /** address */
  client_ip: string | null;
  /** client id */
  client_id: string | null;
  /** API */
  api_name: string | null;
  /** version */
  api_version: number;
  /** requests */
  n: number;
  /** first request */
  first_ns: number;
  /** client software, where ApiVersions has it */
  software_name: string | null;
  /** its version */
  software_version: string | null;
  /** lowest version in 4.0; null where the API was removed */
  lowest_in_4_0: number | null;
}

/** service levels by topic and group */
export interface ServiceLevels {
  /** topics and groups */
  n: number;
  /** the least available first, at most 200 */
  listed: ServiceLevel[];
}

/** the service level of a topic and a group that reads it */
export interface ServiceLevel {
  /** topic */
  topic: string;
  /** group; null where no reader is known */
  group_id: string | null;
  /** minutes in which records of it were written or read */
  n_minutes: number;
  /** number of them with a stall that concerns it */
  n_minutes_stalled: number;
  /** percentage of the minutes without a stall */
  available_percent: number;
  /** from the creation of a record to its acknowledgment, median */
  acked_p50_us: number | null;
  /** 99th percentile */
  acked_p99_us: number | null;
  /** from the acknowledgment to the first fetch by the group, median */
  fetched_p50_us: number | null;
  /** 99th percentile */
  fetched_p99_us: number | null;
  /** greatest lag of the group, records */
  lag_max: number | null;
  /** lag at the end, records */
  lag_last: number | null;
}

/** bytes between racks */
export interface Racks {
  /** whether the racks of brokers, and bytes of whole connections, are known */
  present: boolean;
  /** bytes that went from one rack to another */
  bytes: number;
  /** pairs of client and rack of brokers, of two racks */
  n: number;
  /** the most bytes first, at most 100 */
  listed: CrossRackBytes[];
  /** consumers that send their rack */
  n_readers: number;
  /** consumers, those that read most outside of their rack first, at most 100 */
  readers: RackReader[];
}

/** bytes of connections between a client in one rack and brokers in another */
export interface CrossRackBytes {
  /** rack of the client: its client.rack, else that of a broker on its host */
  client_rack: string;
  /** rack of the brokers */
  broker_rack: string;
  /** whether the client runs on the host of a broker, as replicas do */
  by_broker: boolean;
  /** client id */
  client_id: string | null;
  /** address */
  client_ip: string | null;
  /** bytes that it sent */
  bytes_sent: number;
  /** bytes that it received */
  bytes_received: number;
}

/** a consumer that sends its rack (client.rack) */
export interface RackReader {
  /** client id */
  client_id: string | null;
  /** address */
  client_ip: string | null;
  /** its client.rack */
  rack: string;
  /** bytes of records that it read inside of its rack */
  bytes_inside: number;
  /** bytes of records that it read outside */
  bytes_outside: number;
  /** whether client.rack has its intended effect, or why not, in words */
  what: string;
}

/** how clients connect and authenticate */
export interface Security {
  /** ways in */
  n: number;
  /** connections in plain text */
  n_plain_text: number;
  /** operations that were denied */
  n_denied: number;
  /** logins that failed */
  n_failed_logins: number;
  /** the least secure first, at most 200 */
  listed: WayIn[];
}

/** connections of a client id from an address with the same transport and authentication */
export interface WayIn {
  /** TLS or plain text */
  transport: string;
  /** TLS version */
  tls_version: string | null;
  /** SASL mechanism */
  sasl_mechanism: string | null;
  /** principal */
  principal: string | null;
  /** client id */
  client_id: string | null;
  /** address */
  client_ip: string | null;
  /** connections */
  n_connections: number;
  /** logins that failed */
  n_failed_logins: number;
  /** operations that were denied */
  n_denied: number;
  /** denied operations: API and error */
  denied: string[];
  /** weaknesses, in words */
  weak: string[];
}

/** the starts by time */
export interface Starts {
  listed: Start[];
}

/** a start with its words */
export interface Start {
  /** client instance: the same whatever the buckets, partitions or machine */
  client_instance_id: string;
  /** first SYN or first request; a DNS look-up before it is a step, but not part of the total (nanoseconds since the epoch) */
  start_ns: number | null;
  /** first records, first produce acknowledged, or first answer (admin); null unless ready (nanoseconds since the epoch) */
  ready_ns: number | null;
  /** outcome: ready (it did what such a client is for), done (it ended with all its requests served: only metadata, as of tools; a consumer that fetched without records being available, whose first Fetch may still have waited for some, or that was only a group member; a producer that got an id and sent nothing), failed (a step failed for good, or the last ones), gave_up (it left before it was ready), cut (the capture does not have all of it) */
  outcome: "ready" | "done" | "failed" | "gave_up" | "cut" | null;
  /** expected sequence of steps: kind of client / library */
  expected_sequence: string | null;
  /** steps that it requires, in order */
  expected_steps: string[] | null;
  /** required steps that it did not take */
  missing_steps: string[] | null;
  /** steps that such a client does not take */
  extra_steps: string[] | null;
  /** steps taken again on one subject, or after a failure */
  repeated_steps: string[] | null;
  /** steps first taken before those that they depend on had succeeded */
  out_of_order_steps: string[] | null;
  /** the first 60 and last 20 steps */
  steps: StartStep[];
  heading: string;
  ended: string;
  slowest_text: string;
}

/** a row of startup_steps */
export interface StartStep {
  /** step */
  step: "dns" | "tcp_connect" | "tls_handshake" | "first_exchange" | "api_versions" | "sasl_handshake" | "sasl_authenticate" | "metadata" | "find_coordinator_group" | "find_coordinator_txn" | "find_coordinator_share" | "init_producer_id" | "join_group" | "sync_group" | "consumer_group_heartbeat" | "share_group_heartbeat" | "streams_group_heartbeat" | "offset_fetch" | "offset_for_leader_epoch" | "list_offsets" | "first_fetch" | "first_records" | "add_partitions_to_txn" | "first_produce" | "first_produce_ack" | "first_heartbeat" | "first_commit" | "admin_request";
  /** subject of the step: address, group, topic-partition, mechanism */
  subject: string | null;
  /** node */
  node_id: number | null;
  /** when it began (nanoseconds since the epoch) */
  start_ns: number | null;
  /** when it ended (nanoseconds since the epoch) */
  end_ns: number | null;
  /** from begin to end, microseconds */
  duration_us: number | null;
  /** last byte of the request, or of the answer before it on the connection, to first byte of the answer, microseconds */
  broker_us: number | null;
  /** time before it with nothing in flight (critical path: since the step before), microseconds */
  wait_us: number | null;
  /** 1, and one more after each try of this step on this subject that failed */
  attempt: number | null;
  /** how it ended */
  outcome: "ok" | "error" | "unanswered" | "cut" | null;
  /** error of the answer */
  error_name: string | null;
  /** whether it made the total */
  on_critical_path: boolean;
  /** requests that prove it */
  request_ids: string[] | null;
}

/** recoveries by time, and those of one cause together */
export interface Episodes {
  listed: Recovery[];
  causes: Cause[];
}

/** a recovery with its words and steps */
export interface Recovery {
  /** episode */
  recovery_id: string;
  /** client instance: the same whatever the buckets, partitions or machine */
  client_instance_id: string;
  /** topic-partition, group, transactional id, coordinator key or address */
  resource: string | null;
  /** outcome: recovered; served_elsewhere (the client did not need it again: other brokers served it, or, for a topic-partition, its group went on); still_open at the end of the capture; gave_up (the client did other work and did not retry); client_ended (the client ended first); fatal (a retry does not help); wrong_reaction */
  outcome: "recovered" | "served_elsewhere" | "still_open" | "gave_up" | "client_ended" | "fatal" | "wrong_reaction" | null;
  /** first error (nanoseconds since the epoch) */
  start_ns: number | null;
  /** first success on the resource after it (nanoseconds since the epoch) */
  recovered_ns: number | null;
  /** node that failed */
  old_node_id: number | null;
  steps: RecoveryStep[];
  heading: string;
  ended: string;
  sentences: string[];
}

/** a step with its words; at: after the first error */
export interface RecoveryStep {
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
  outcome: "recovered" | "served_elsewhere" | "still_open" | "gave_up" | "client_ended" | "fatal" | "wrong_reaction";
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
  /** group */
  group_id: string | null;
  /** coordinator */
  node_id: number | null;
  /** generation or group epoch; null where the capture shows none */
  generation: number | null;
  /** cause */
  trigger: "member_joined" | "member_left" | "member_evicted" | "subscription_changed" | "partitions_revoked" | "coordinator_moved" | "first" | "unknown" | null;
  /** evidence of the cause, in a sentence */
  trigger_why: string | null;
  /** first sign of it: the join, leave or heartbeat that began it (nanoseconds since the epoch) */
  start_ns: number | null;
  /** when the last member had its assignment (nanoseconds since the epoch) */
  end_ns: number | null;
  /** start to end, milliseconds */
  duration_ms: number | null;
  /** members */
  n_members: number | null;
  /** members: joined_ns (its join was sent; epoch reached), synced_ns (it had its assignment), join_ms and sync_ms (the coordinator's time for its join and sync), partitions assigned (tasks for streams, connectors and tasks for connect), gained and lost since the generation before */
  members: Member[];
  /** member that joined last, for which the others waited */
  last_joiner: string | null;
  /** longest unread_ms of a partition; null where none was unread */
  unread_ms: number | null;
  /** topic-partitions that changed their owner, or that nobody in the group read meanwhile, by name: owner_before and owner_after (member ids; null for nobody, or where the capture does not show it), and the time in which accepted records waited and no Fetch of the group brought any: unread_from_ns, unread_to_ns (null: until the capture ended) and unread_ms; all null where nothing waited for longer than the group's usual pause, or where the capture does not show since when records were there (by their producer, a follower or another reader). It is the wait of a row of stalls of the kind consume, shorter ones included; one that lasts through several rebalances is in each of them */
  partitions: ReassignedPartition[];
  /** members of the generation before that are in it no more: how (left: it said so; evicted: it was silent; replaced: another took its group.instance.id), and when its last request was seen */
  departed: DepartedMember[];
  /** request ids that prove trigger, generation and assignments, in order of time */
  evidence: string[];
  /** the partitions that were unread, in words; empty where none was */
  unread_text: string;
}

/** a member of a group */
export interface Member {
  member_id: string | null;
  client_instance_id: string | null;
  joined_ns: number | null;
  synced_ns: number | null;
}

/** a topic-partition that changed its owner or was unread around a rebalance */
export interface ReassignedPartition {
  /** member id of the previous owner; null for none, or where it is not known */
  owner_before: string | null;
  /** member id of the next owner; null for none, or where it is not known */
  owner_after: string | null;
  /** since when a record waited that no member fetched */
  unread_from_ns: number | null;
  /** when a waiting record was fetched; null where the capture ended before */
  unread_to_ns: number | null;
}

/** a member that left */
export interface DepartedMember {
  member_id: string | null;
  client_instance_id: string | null;
  client_id: string | null;
  how: "left" | "evicted" | "replaced" | "unknown" | null;
  silent_ms: number | null;
}

/** a group with the indices of its rebalances */
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

/** a transaction with its duration, the name of the client that fenced it, and the readers that it blocked */
export interface Transaction {
  /** transactional id; null where only consumers show the transaction, held back by it */
  transactional_id: string | null;
  /** producer id */
  producer_id: number | null;
  /** producer epoch */
  producer_epoch: number | null;
  /** first request that belongs to it; null where it began before the capture (nanoseconds since the epoch) */
  begin_ns: number | null;
  /** response that ended it; null where none did (nanoseconds since the epoch) */
  end_ns: number | null;
  /** how it ended: fenced (another instance took the id over), hanging (left open by a client that went away, or longer than its timeout), open (at the end of the capture), cut (it began before the capture, or its end is not in it; see end_kind) */
  outcome: "committed" | "aborted" | "fenced" | "hanging" | "open" | "cut" | null;
  /** topic-partitions written, sorted */
  partitions: string[];
  /** records in them */
  n_records: number | null;
  /** what ended it: EndTxn (commit, abort), the coordinator (its timeout was over), InitProducerId; null where nothing did */
  end_kind: "commit" | "abort" | "coordinator" | "init_producer_id" | null;
  /** request ids that prove it, in order of time; at most 32 */
  evidence: string[];
  took: string;
  fenced_by_name: string;
  held_back_text: string;
}

/** a transactional id with the indices of its transactions */
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

/** a topic and its reader */
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

/** a time slice at whose end the reader was behind */
export interface LagBand {
  from_ns: number;
  to_ns: number;
  share: number;
}

/** findings, with indices of those that belong to no incident: `alone` are above severity info, `notes` the others */
export interface Findings {
  /** whether the dataset has the table */
  present: boolean;
  /** why the dataset lacks it, and what to do */
  why_not: string | null;
  /** findings */
  n: number;
  /** findings, the most severe first, at most 200 */
  listed: Finding[];
  title: string;
  alone: number[];
  notes_title: string;
  notes: number[];
}

/** the result of a rule about one client, or about several clients for which it is the same */
export interface Finding {
  /** id of the finding; of several rows the most frequent one */
  finding_id: string;
  /** incident of which it is a consequence; null without one */
  incident_id: string | null;
  /** rule of the finding: `kafkascope rules` lists all */
  rule: string;
  /** error (broken), warning (will break, or costs) or info (worth knowing) */
  severity: string;
  /** what was found */
  sentence: string;
  /** the sentence of each row, where there are several */
  sentences: string[];
  /** what to change */
  advice: string | null;
  /** subject: an address, group, topic-partition, transactional id, ... */
  subject: string | null;
  /** client that it is about; null where it is about none or several */
  client_instance_id: string | null;
  /** first occurrence */
  first_ns: number | null;
  /** last occurrence */
  last_ns: number | null;
  /** how often, and from when to when */
  when: string;
  /** the first 50 of them */
  conn_ids: string[];
  /** requests and connections that prove it */
  n_evidence: number;
  /** the first 20 of them */
  evidence: Proof[];
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

/** the brokers, their changes, and the leaders and coordinators over time */
export interface ClusterStory {
  brokers: TopologyBroker[];
  n_changes: number;
  changes: Change[];
  presence: BrokerPresence[];
  owners: Owner[];
}

/** a node with its advertised addresses, its servers' addresses and its connections */
export interface TopologyBroker {
  node_id: number;
  rack: string | null;
  addresses: string[];
}

/** a change with its sentence */
export interface Change {
  api_name: string | null;
  packet_no: number | null;
  ts_ns: number;
  kind: string;
  what: string;
  text: string;
}

/** a broker that Metadata stopped listing, or listed again */
export interface BrokerPresence {
  at_ns: number;
  node_id: number;
  what: string;
}

/** the nodes that led or coordinated something, each with the time from which on it did */
export interface Owner {
  kind: string;
  subject: string;
  node_ids: (number | null)[];
  since_ns: number[];
}

/** the lane of a broker */
export interface BrokerLane {
  label: string;
  short_label: string;
  serving: Stretch[];
  failing: Stretch[];
  outcome: string;
  in_short: string;
}

/** a span of time in one state, with its times in words */
export interface Stretch {
  state: string;
  from_ns: number;
  to_ns: number | null;
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
  text: string;
}

/** the capture with its words */
export interface Capture {
  /** the files read, in order */
  files: FileRead[];
  /** last packet */
  end_ns: number | null;
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
  /** packets in the file */
  n_packets: number | null;
  /** packets cut by the snap length */
  n_truncated: number | null;
  /** packets dropped according to the capturing program; null where the file does not have the count */
  n_dropped: number | null;
  /** size of the file */
  size_bytes: number | null;
  /** time of the first packet (nanoseconds since the epoch) */
  first_ns: number | null;
  /** time of the last packet (nanoseconds since the epoch) */
  last_ns: number | null;
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
  /** principal, where the capture shows one */
  principal: string | null;
  /** group */
  group_id: string | null;
  /** how it ended */
  end_state: "closed" | "died" | "evicted" | "open" | null;
  /** first segment of its connections (nanoseconds since the epoch) */
  first_ns: number | null;
  /** requests; for an encrypted client those that the lengths of TLS records show */
  n_requests: number | null;
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
  /** id of the connection, which does not depend on how the capture was divided into files or buckets */
  conn_id: string;
  /** node id of the server; null where the capture does not show it */
  node_id: number | null;
  /** its protocol */
  protocol: "kafka" | "tls" | "http" | "proxy" | "zookeeper" | "other" | "empty" | null;
  /** first segment (nanoseconds since the epoch) */
  first_ns: number;
  /** last segment (nanoseconds since the epoch) */
  last_ns: number;
  /** how it ended */
  close_kind: "fin_client" | "fin_server" | "rst_client" | "rst_server" | "open" | "refused" | "unanswered" | null;
  /** requests seen */
  n_requests: number | null;
  /** non-zero error codes in its responses */
  n_errors: number | null;
  /** first FIN or RST (nanoseconds since the epoch) */
  close_ns: number | null;
  from: string;
  to: string;
  client: number;
  /** roles of the connection, sorted */
  roles: LaneRole[];
  family: number | null;
}

/** a role of a connection and the time from which on it has it */
export interface LaneRole {
  /** the role */
  role: "bootstrap" | "partition_leader" | "follower_fetch" | "group_coordinator" | "share_coordinator" | "transaction_coordinator" | "controller" | "inter_broker" | "admin" | "telemetry";
  text: string;
  first_ns: number | null;
  family: number;
}

/** TCP events on the lanes, as columns in the order of the lanes */
export interface TcpEvents {
  conn: number[];
  event: string[];
  packet_no: (number | null)[];
}

/** the meaning of the requests' columns, and the number of requests that they stand for */
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

/** the comparison of two captures: matched starts, slowest change first; clients that only one capture has; failures and recoveries; latency, errors, versions, rebalances */
export interface Comparison {
  before: Side;
  after: Side;
  matched: StartChange[];
  n_slower: number;
  n_faster: number;
  only_before: ClientKind[];
  only_after: ClientKind[];
  incidents: IncidentChange[];
  recoveries: RecoveryChange[];
  latency: LatencyChange[];
  latency_by_broker: LatencyChange[];
  errors: ErrorChange[];
  versions: VersionChange[];
  rebalances: RebalanceChange[];
  worse: string[];
}

/** one of the two captures */
export interface Side {
  name: string;
  start: string | null;
  duration_us: number;
  n_clients: number;
  n_requests: number;
  n_incidents: number;
  n_stalled_clients: number;
}

/** starts of one kind of client that both captures have, before and after */
export interface StartChange {
  client_id: string;
  kind: string;
  group_id: string;
  transactional_id: string;
  n_before: number;
  n_after: number;
  outcome_before: string | null;
  outcome_after: string | null;
  before_us: number | null;
  after_us: number | null;
  change_us: number | null;
  verdict: string;
  steps: StepChange[];
}

/** the time that a step added to the total before and after; wait, broker and network: the change of each part */
export interface StepChange {
  step: string;
  before_us: number;
  after_us: number;
  change_us: number;
  wait_us: number;
  broker_us: number;
  network_us: number;
}

/** the key by which clients of two captures are matched: what stays the same between runs */
export interface ClientKind {
  client_id: string;
  kind: string;
  group_id: string;
  transactional_id: string;
}

/** incidents of one kind of one broker, topic or other subject, with their consequences */
export interface IncidentChange {
  what: string;
  n_before: number;
  n_after: number;
  clients_before: number;
  clients_after: number;
  longest_before_ms: number;
  longest_after_ms: number;
  verdict: string;
}

/** recoveries of clients of one name from one first error of one kind of resource */
export interface RecoveryChange {
  client_id: string;
  resource_kind: string;
  error_name: string;
  n_before: number;
  n_after: number;
  before_ms: number | null;
  after_ms: number | null;
  unrecovered_before: number;
  unrecovered_after: number;
  verdict: string;
}

/** latency of the responses to an API's requests: of one broker, or of all where node_id is None */
export interface LatencyChange {
  api_name: string;
  node_id: number | null;
  n_before: number;
  n_after: number;
  p50_before_us: number;
  p50_after_us: number;
  p99_before_us: number;
  p99_after_us: number;
  verdict: string;
}

/** how often an error code occurred in the responses of an API */
export interface ErrorChange {
  error_name: string;
  api_name: string;
  n_before: number;
  n_after: number;
  per_minute_before: number;
  per_minute_after: number;
  verdict: string;
}

/** software or API versions that clients of one name used in only one of the two captures, as texts */
export interface VersionChange {
  client_id: string;
  what: string;
  before: string;
  after: string;
}

/** rebalances of a group, and the longest time that a partition was unread around one */
export interface RebalanceChange {
  group_id: string;
  n_before: number;
  n_after: number;
  longest_before_ms: number;
  longest_after_ms: number;
  triggers_before: string[];
  triggers_after: string[];
  verdict: string;
}
