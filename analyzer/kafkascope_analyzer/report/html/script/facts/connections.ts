// What TCP did at the end of a connection.

import { STORY } from "./data.ts";
import { words } from "./figures.ts";

// Packet numbers of what TCP did at the end of a connection.
export function packetsOfEnd(n: number) {
  const { conn, event, packet_no } = STORY.lanes.events;
  const found = [];
  for (let k = 0; k < conn.length && found.length < 3; k++)
    if (conn[k] === n && event[k] !== "gap") found.push(`${words(event[k])} in packet ${packet_no[k]}`);
  return found.length ? `(${found.join(", ")})` : "";
}
