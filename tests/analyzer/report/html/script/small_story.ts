// A story with two clients and three connections, small enough to be read.

import type {
  LaneConnection,
  LaneRole,
  Story,
} from "../../../../../analyzer/kafkascope_analyzer/report/html/script/facts/story.d.ts";

function connection(conn_id: string, client: number, role: LaneRole["role"]): Partial<LaneConnection> {
  const roles = [{ role, text: role, first_ns: 0, family: 0 }];
  const times = { first_ns: 0, last_ns: 9000, close_kind: null, close_ns: null };
  const place = {
    client_ip: "10.0.0.1",
    from: "10.0.0.1:5000",
    to: "10.0.0.2:9092",
    node_id: 1,
    protocol: "kafka" as const,
  };
  return { conn_id, client, ...place, ...times, n_requests: 2, n_errors: 0, roles, family: 0 };
}

function client(client_instance_id: string, kind: string, conns: number[]) {
  const counts = { n_requests: 2, n_errors: 0, n_connections: conns.length };
  const texts = { name: client_instance_id, what: kind, software: "", facts: [], outcome: "well", trouble: "none" };
  const start = { start: null, start_outcome: null };
  const known = { client_instance_id, client_id: client_instance_id, client_ip: "10.0.0.1", kind };
  return { ...known, ...counts, ...texts, ...start, first_ns: 0, last_ns: 9000, conns };
}

// 1 s long, from 2026-11-21 04:28:34.577 UTC on; requests: Produce and Fetch, one error, one group.
export function emptyStory(): Story {
  return {
    capture: {
      start_ns: 0,
      end_ns: 1_000_000_000,
      origin: "1795235314577000000",
      dataset: "it's.kscope",
      title: "small",
    },
    lanes: {
      clients: [client("p1", "producer", [0, 1]), client("b1", "broker", [2])],
      connections: [
        connection("aa", 0, "partition_leader"),
        connection("bb", 0, "bootstrap"),
        connection("cc", 1, "controller"),
      ],
      n_connections: 3,
      events: { conn: [], at_ns: [], event: [], side: [], packet_no: [] },
    },
    requests: {
      unit: 10,
      apis: ["", "", "Produce", "Fetch"],
      families: [6, 6, 0, 0],
      errors: ["", "", "NOT_LEADER_OR_FOLLOWER"],
      groups: ["", "", "readers"],
      transactional_ids: ["", ""],
      client_ids: ["", ""],
      topics: ["", "", "clicks"],
    },
  } as unknown as Story;
}

const NONE = 4294967295;

// Five requests: three on aa (the second failed, the third waits for an answer), one on bb, an orphan response on cc.
// Columns named d_... are differences to the row before, modulo 2**32.
export function columns() {
  const u32 = (...values: number[]) => Uint32Array.from(values, (value) => value >>> 0);
  const zeros = () => new Uint16Array(5);
  return {
    d_conn: u32(0, 0, 0, 1, 1),
    d_ts: u32(100, 50, 50, -150, 10),
    d_number: u32(1, 1, 1, -3, 2147483648 + 4),
    took: u32(3, 5, NONE, 1, 2),
    latency: u32(2, 4, NONE, 1, NONE),
    d_correlation: u32(7, 1, 1, 0, 0),
    d_packet: u32(10, 10, 10, -25, 5),
    d_response: u32(1, 2, -30, 3, 0),
    generation: new Int32Array(5),
    weight: u32(1, 1, 1, 4, 1),
    error: Uint16Array.from([0, 2, 0, 0, 0]),
    failed: Uint8Array.from([0, 1, 1, 0, 0]),
    group: Uint16Array.from([0, 0, 0, 2, 0]),
    transaction: zeros(),
    client: zeros(),
    api: Uint8Array.from([2, 2, 2, 3, 3]),
    status: Uint8Array.from([0, 0, 2, 0, 3]),
    n_named: Uint8Array.from([1, 2, 0, 0, 0]),
    topic: Uint16Array.from([2, 2, 2]),
    partition: Int32Array.from([0, 0, 1]),
    offset: Float64Array.from([-1, 5, -1]),
    partition_error: Uint16Array.from([0, 2, 0]),
  };
}

export function emptyColumns() {
  return Object.fromEntries(Object.entries(columns()).map(([name, column]) => [name, column.slice(0, 0)]));
}
