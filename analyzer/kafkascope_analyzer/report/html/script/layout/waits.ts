// Where the waits of a row are.

import { joined, WAITS } from "../facts/waits.ts";
import type { RequestRow } from "./rows.ts";
import { extent } from "./scale.ts";

// Waits on a client's lane, or on a connection to the broker that was waited on: [left, width] and words.
export function waitBoxes(row: RequestRow, width: number) {
  const mine = (WAITS.get(row.kind === "conn" ? row.conn.client : row.number) || []).filter(
    (wait) => row.kind !== "conn" || wait.node_id === row.conn.node_id,
  );
  return joined(mine).flatMap(({ from, to, text }) => {
    const box = extent(from, to, width);
    return box ? [{ box, text }] : [];
  });
}
