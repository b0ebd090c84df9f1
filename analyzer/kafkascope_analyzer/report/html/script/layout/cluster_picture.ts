// Where clients and brokers are in the picture of the cluster at a moment.

import type { Moment } from "../facts/cluster_at.ts";
import { STORY } from "../facts/data.ts";

export const MOST_PICTURED = 24;

export function clusterPicture(state: Moment) {
  const clients = [...new Set(state.links.map((link) => link.client))].sort((a, b) => a - b);
  const shown = clients.slice(0, MOST_PICTURED);
  const known = STORY.topology.brokers.map((broker) => broker.node_id);
  const nodes = [...new Set([...known, ...state.links.map((link) => link.node)])].slice(0, MOST_PICTURED);
  const height = Math.max(shown.length * 30, nodes.length * 74, 100) + 20;
  const clientY = (n: number) => ((n + 0.5) * (height - 20)) / Math.max(1, shown.length) + 10;
  const nodeY = (n: number) => ((n + 0.5) * (height - 20)) / Math.max(1, nodes.length) + 10;
  return { clients, shown, nodes, height, clientY, nodeY };
}
