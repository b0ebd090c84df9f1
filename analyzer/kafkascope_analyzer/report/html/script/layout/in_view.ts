// The requests that are in view, troubles first.

import { REQ } from "../facts/data.ts";
import { isTrouble, MASK } from "../facts/filter.ts";
import { ROWS } from "./rows.ts";
import { rangeOf } from "./scale.ts";
import { VIEW } from "./view.ts";

const MOST_IN_VIEW = 100;

export function requestsInView() {
  const found = [];
  let n = 0;
  let nTrouble = 0;
  for (const row of ROWS) {
    for (const conn of row.kind === "client" ? row.conns : []) {
      const [from, to] = rangeOf(conn);
      for (let i = from; i < to; i++) {
        if (!MASK[i] || REQ.end[i] < VIEW.from) continue;
        n += REQ.weight[i];
        nTrouble += isTrouble(i) ? REQ.weight[i] : 0;
        found.push(i);
      }
    }
  }
  found.sort((a, b) => Number(isTrouble(b)) - Number(isTrouble(a)) || REQ.start[a] - REQ.start[b]);
  return { listed: found.slice(0, MOST_IN_VIEW), n, nTrouble };
}
