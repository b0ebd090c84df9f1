// Which requests and connections the page leaves out, in words.

import { STORY } from "./data.ts";
import { count, grouped } from "./figures.ts";

export function leftOut() {
  const { n, n_kept, n_unplaced, stretches } = STORY.requests;
  const parts = [];
  if (n_kept < n - n_unplaced) {
    parts.push(
      `The page has ${grouped(n_kept)} of ${count(n, "request")}: ` +
        `${stretches.other ? "requests" : "successful data requests and heartbeats"} of a connection that are close together are drawn as one, the slowest of them, which says how many it stands for. ` +
        `${stretches.other ? "" : "All errors and all other requests are here. "}Densities count all; the tables of the dataset have each.`,
    );
  }
  if (n_unplaced) parts.push(`${count(n_unplaced, "request")} are on connections that have no lane here.`);
  const lanes = STORY.lanes;
  if (lanes.connections.length < lanes.n_connections)
    parts.push(
      `${grouped(lanes.connections.length)} of ${count(lanes.n_connections, "connection")} have a lane: those with most errors and requests.`,
    );
  return parts.join(" ");
}
