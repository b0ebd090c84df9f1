// The types of the data that the page gets: parts of report.json (report.d.ts), and what report/html/*.py adds.
// Times (`*_ns`) are nanoseconds since the capture's start.

import type {
  RebalanceRow,
  RecoveryRow,
  RecoveryStepRow,
  Report,
  StartRow,
  StartStepRow,
  TransactionRow,
} from "./report.d.ts";

export type Incident = Report["incidents"]["listed"][number];
export type Wait = Incident["waits"][number];
export type Consequence = Incident["followed"][number];
export type Finding = Report["findings"]["listed"][number];
export type FamilyRates = Report["request_rates"]["families"][number];
export type RateSlot = FamilyRates["slots"][number];
export type LatencyRow = Report["latency"]["listed"][number];

export interface Role {
  role: string;
  verdict: string;
  subjects: string[];
  n: number;
  first_ns: number | null;
  last_ns: number | null;
  family: number;
}

export interface Connection {
  conn_id: string;
  client: number;
  client_ip: string;
  from: string;
  to: string;
  node_id: number | null;
  protocol: string;
  first_ns: number;
  last_ns: number;
  close_kind: string | null;
  close_ns: number | null;
  primary_role: string;
  n_requests: number | null;
  n_errors: number | null;
  roles: Role[];
  // The family whose colour it has; null where no role is known.
  family: number | null;
}

export interface Client {
  client_instance_id: string;
  client_id: string | null;
  client_ip: string;
  kind: string;
  software_name?: string | null;
  principal?: string | null;
  group_id?: string | null;
  end?: string | null;
  first_ns: number;
  last_ns: number;
  n_requests: number | null;
  n_errors: number | null;
  n_connections: number;
  conns: number[];
  stood_still?: string | null;
  name: string;
  what: string;
  software: string;
  facts: string[];
  start: string | null;
  start_outcome: string | null;
  recoveries: string;
}

export interface TcpEvents {
  conn: number[];
  at_ns: number[];
  event: string[];
  side: string[];
  packet_no: (number | null)[];
}

export type StartStep = Omit<StartStepRow, "startup_id">;
export type Start = StartRow & {
  steps: StartStep[];
  to_ns: number;
  heading: string;
  ended: string;
  slowest_text: string;
};
export type RecoveryStep = Omit<RecoveryStepRow, "recovery_id"> & { text: string; at: string; took: string };
export type Episode = RecoveryRow & {
  steps: RecoveryStep[];
  heading: string;
  ended: string;
  sentences: string[];
};
// Recoveries of a client from one cause: the worst, which stands for all, and others.
export interface Cause {
  client_instance_id: string;
  worst: string;
  alike: string[];
  recovery_ids: string[];
  heading: string;
  outcome: string;
  ended: string;
}

// A start or a recovery on a client's lane. to_ns: null where it is not over.
export interface Band {
  client_instance_id: string;
  kind: "start" | "recovery";
  from_ns: number;
  to_ns: number | null;
  title: string;
  lines: string[];
  steps_at_ns: number[];
  steps: string[];
}

export interface Family {
  name: string;
  title: string;
  pattern: string;
}
// partitions: those that were unread, longest first; unread_text is about them.
export type Rebalance = Omit<RebalanceRow, "members" | "departed" | "partitions"> & {
  members: Member[] | null;
  departed: Departed[] | null;
  partitions: Unread[];
  unread_text: string;
};
export type Unread = NonNullable<NonNullable<RebalanceRow["partitions"]>[number]>;
export type Member = NonNullable<NonNullable<RebalanceRow["members"]>[number]>;
export type Departed = NonNullable<NonNullable<RebalanceRow["departed"]>[number]>;
export type Transaction = TransactionRow & { took: string; fenced_by_name: string; held_back_text: string };

export interface Evidence {
  conn_id: string;
  api_name: string;
  api_version: number;
  ts_ns: number;
  took: string;
  error_name: string | null;
  status: string;
  node_id: number | null;
  capture_id: number;
  request_packet_no: number | null;
  response_packet_no: number | null;
}

export interface Change {
  ts_ns: number;
  kind: string;
  subject: string;
  what: string;
  text: string;
  api_name: string | null;
  packet_no: number | null;
}

export interface Owner {
  kind: string;
  subject: string;
  node_ids: (number | null)[];
  since_ns: number[];
}

export interface Topology {
  brokers: { node_id: number; rack: string | null; addresses: string[] }[];
  n_changes: number;
  changes: Change[];
  presence: { at_ns: number; node_id: number; what: string }[];
  owners: Owner[];
}

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

export interface BrokerLane {
  node_id: number | null;
  label: string;
  short_label: string;
  serving: Stretch[];
  failing: Stretch[];
}

export interface Stall {
  stall_id: string;
  client_instance_id: string | null;
  node_id: number | null;
  from_ns: number;
  to_ns: number | null;
  text: string;
}

// A topic and who reads it. figures, partitions, slices: cells of tables.
export interface TopicFlow {
  topic: string;
  reader: string;
  figures: string[];
  sentence: string;
  // The slices at whose end the reader was behind; share: of the most that it was behind.
  lags: { from_ns: number; to_ns: number; share: number }[];
  heading: string;
  partitions: string[][];
  more_partitions: string;
  slices: string[][];
}

interface Listed<Row> {
  present: boolean;
  n: number;
  listed: Row[];
}

export interface Story
  extends Pick<
    Report,
    | "headline"
    | "incidents"
    | "connections"
    | "cluster"
    | "apis"
    | "errors"
    | "unread"
    | "stories"
    | "request_rates"
    | "latency"
    | "leaders"
    | "client_traffic"
    | "removed_versions"
    | "restarts"
  > {
  capture: Report["capture"] & { title: string; dataset: string; origin: string; facts: string[]; unread: string[] };
  findings: Report["findings"] & { title: string; alone: number[]; notes_title: string; notes: number[] };
  families: Family[];
  bands: Band[];
  first_client: string;
  lanes: { clients: Client[]; connections: Connection[]; n_connections: number; events: TcpEvents };
  requests: {
    n: number;
    n_kept: number;
    n_unplaced: number;
    stretches: { data: number; other: number };
    unit: number;
    apis: string[];
    families: number[];
    errors: string[];
    groups: string[];
    transactional_ids: string[];
    client_ids: string[];
    topics: string[];
  };
  starts: { n: number; listed: Start[] };
  episodes: { n: number; listed: Episode[]; causes: Cause[] };
  rebalances: Listed<Rebalance> & { groups: { name: string; in_short: string; places: number[] }[] };
  transactions: Listed<Transaction> & {
    ids: { name: string; places: number[] }[];
    outcomes: Report["transactions"]["outcomes"];
  };
  flow: Listed<TopicFlow> & { why_not: string | null; slice_length: string; more: string };
  evidence: Record<string, Evidence>;
  topology: Topology;
  broker_lanes: BrokerLane[];
  stalls: Stall[];
}
