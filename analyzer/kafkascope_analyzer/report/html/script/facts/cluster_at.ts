// The cluster at a moment: open connections with their roles, who led what, and what changed about then.

import { END, STORY } from "./data.ts";
import { clock, words } from "./figures.ts";
import type { LaneRole, Owner } from "./story.d.ts";

// Open connections of a client to a broker, with the roles that had begun.
export interface Link {
  client: number;
  node: number | string;
  roles: Map<string, LaneRole>;
  n: number;
}

export interface Moment {
  ns: number;
  links: Link[];
  led: Map<number | string, Record<string, number>>;
}

// Open connections by client and node, with the roles that had begun.
export function stateAt(ns: number, brokers: boolean): Moment {
  const links = new Map<string, Link>();
  STORY.lanes.connections.forEach((conn) => {
    if (conn.protocol !== "kafka" || conn.first_ns > ns || (conn.close_ns ?? conn.last_ns) < ns) return;
    const client = STORY.lanes.clients[conn.client];
    if (client.kind === "broker" && !brokers) return;
    const key = `${conn.client}:${conn.node_id ?? conn.to}`;
    const link = links.get(key) || {
      client: conn.client,
      node: conn.node_id ?? conn.to,
      roles: new Map<string, LaneRole>(),
      n: 0,
    };
    link.n += 1;
    for (const role of conn.roles) if ((role.first_ns ?? 0) <= ns) link.roles.set(role.role, role);
    links.set(key, link);
  });
  const led = new Map<number | string, Record<string, number>>();
  for (const owner of STORY.topology.owners) {
    const node = ownerAt(owner, ns);
    if (node === null) continue;
    const known = led.get(node) ?? {};
    led.set(node, { ...known, [owner.kind]: (known[owner.kind] ?? 0) + 1 });
  }
  return { ns, links: [...links.values()], led };
}

function ownerAt(owner: Owner, ns: number) {
  let node = null;
  owner.since_ns.forEach((since, n) => {
    if (since <= ns) node = owner.node_ids[n];
  });
  return node;
}

export function isGone(node: number, ns: number) {
  return STORY.topology.presence.filter((one) => one.node_id === node && one.at_ns <= ns).at(-1)?.what === "gone";
}

// Changes of the cluster and rebalances within reach (ns) of the time, as lines; null where there are none.
export function changesNear(at: number, reach: number) {
  const near = STORY.topology.changes.filter((change) => Math.abs(change.ts_ns - at) < reach).slice(0, 6);
  const groups = STORY.rebalances.listed
    .filter((one) => (one.start_ns ?? 0) - reach < at && at < (one.end_ns ?? END) + reach)
    .slice(0, 3);
  const lines = [
    ...near.map((change) => `${clock(change.ts_ns)} ${change.text}`),
    ...groups.map((one) => `${clock(one.start_ns)} rebalance of ${one.group_id}: ${words(one.trigger)}`),
  ];
  return lines.length ? lines : null;
}
