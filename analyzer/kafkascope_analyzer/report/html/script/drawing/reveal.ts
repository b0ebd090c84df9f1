// How a request is brought into sight.

import { END, REQ, STORY } from "../facts/data.ts";
import { MASK } from "../facts/filter.ts";
import { requestLines } from "../facts/requests.ts";
import { layRows, ROWS, rowOfConnection } from "../layout/rows.ts";
import { centre, setView, showStretch, VIEW, viewChanged } from "../layout/view.ts";
import { announce, jump } from "./dom.ts";
import { clearFilter, showFilter } from "./filter_form.ts";
import { scrollTo } from "./stage.ts";

// Marks a request and keeps it in sight.
export function select(i: number) {
  VIEW.request = i;
  if (REQ.start[i] < VIEW.from || REQ.start[i] > VIEW.to) centre(REQ.start[i]);
  announce(requestLines(i).join(", "));
  viewChanged();
}

// Opens the client of a request, scrolls to its lane and shows its time, closer where the view is wide.
export function reveal(i: number) {
  const conn = REQ.conn[i];
  const { client } = STORY.lanes.connections[conn];
  if (STORY.lanes.clients[client].kind === "broker") VIEW.brokers = true;
  VIEW.open.add(client);
  if (!MASK[i]) clearFilter();
  showFilter();
  layRows();
  scrollTo(ROWS[rowOfConnection(conn)]);
  const took = REQ.end[i] - REQ.start[i];
  const length = Math.min(VIEW.to - VIEW.from, Math.max(took * 6, END / 50, 1e8));
  setView(REQ.start[i] - length / 3, REQ.start[i] + (2 * length) / 3);
}

// Shows a stretch of time in a part of the page.
export function showAt(id: string, from: number, to: number) {
  showStretch(from, to);
  jump(id);
}
