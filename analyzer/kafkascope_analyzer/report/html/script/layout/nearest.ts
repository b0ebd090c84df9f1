// The request that a pointer or a key means.

import { lowerBound, REQ, STORY } from "../facts/data.ts";
import { isTrouble, MASK } from "../facts/filter.ts";
import { hasRequests, type RequestRow, type Row } from "./rows.ts";
import { rangeOf } from "./scale.ts";
import { VIEW } from "./view.ts";

// The request of the row nearest to the time, within reach (ns); troubles win. -1 where there is none.
export function nearest(row: Row, at: number, reach: number) {
  if (!hasRequests(row)) return -1;
  let best = -1;
  let least = reach;
  for (const conn of row.conns) {
    const [from, to] = rangeOf(conn);
    for (let i = from; i < to; i++) {
      if (!MASK[i]) continue;
      const away = Math.max(0, REQ.start[i] - at, at - REQ.end[i]) - (isTrouble(i) ? reach / 2 : 0);
      if (away < least) [best, least] = [i, away];
    }
  }
  return best;
}

// The next (by = 1) or previous (by = -1) request of the row after or before the marked one, -1 where there is none.
export function besideInRow(row: RequestRow, by: number) {
  const from =
    VIEW.request >= 0 && row.conns.includes(REQ.conn[VIEW.request])
      ? REQ.start[VIEW.request]
      : by > 0
        ? VIEW.from - 1
        : VIEW.to;
  let best = -1;
  for (const conn of row.conns) {
    const near = neighbour(conn, from, by);
    if (near >= 0 && (best < 0 || (REQ.start[near] - REQ.start[best]) * by < 0)) best = near;
  }
  return best;
}

function neighbour(conn: number, ns: number, by: number) {
  const [first, last] = [REQ.firstOf[conn], REQ.firstOf[conn + 1]];
  let i = by > 0 ? lowerBound(REQ.start, ns + 0.5, first, last) : lowerBound(REQ.start, ns, first, last) - 1;
  while (i >= first && i < last && !MASK[i]) i += by;
  return i >= first && i < last ? i : -1;
}

// The first request in trouble after the marked one, or else after the view's begin; -1 where there is none.
export function nextTrouble() {
  const from = VIEW.request >= 0 && isTrouble(VIEW.request) ? REQ.start[VIEW.request] : VIEW.from - 1;
  let best = -1;
  for (let i = 0; i < REQ.n; i++) {
    if (!MASK[i] || !isTrouble(i) || REQ.start[i] <= from) continue;
    if (!VIEW.brokers && STORY.lanes.clients[STORY.lanes.connections[REQ.conn[i]].client].kind === "broker") continue;
    if (best < 0 || REQ.start[i] < REQ.start[best]) best = i;
  }
  return best;
}
