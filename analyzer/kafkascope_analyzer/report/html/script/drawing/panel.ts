// The panel with all that is known of one request.

import { cutCommand } from "../facts/commands.ts";
import { apiText, namedBy, REQ, requestId, STORY } from "../facts/data.ts";
import { isTrouble } from "../facts/filter.ts";
import { partitionText, requestFields, requestLines, requestOutcome } from "../facts/requests.ts";
import { VIEW, viewChanged } from "../layout/view.ts";
import { announce, button, byId, command, el, jump, replace } from "./dom.ts";
import { reveal, select } from "./reveal.ts";
import { outcome } from "./signs.ts";

// The element that had the focus before, and what shows a client: set once the panel is made.
const PANEL = { opener: null } as {
  opener: HTMLElement | null;
  showClient: (number: number, move: boolean) => void;
};

export function requestPanel(showClient: (number: number, move: boolean) => void) {
  PANEL.showClient = showClient;
  return el("aside", { id: "panel", hidden: true, tabindex: "-1", "aria-labelledby": "panel-title" });
}

export function openRequest(i: number) {
  VIEW.request = i;
  const panel = byId("panel");
  const id = requestId(i);
  replace(
    panel,
    el(
      "div",
      { class: "bar" },
      el("h2", { id: "panel-title" }, apiText(i)),
      button("Close", closePanel, { class: "small" }),
    ),
    el("p", {}, outcome(isTrouble(i) ? "fatal" : "recovered", requestOutcome(i))),
    el(
      "dl",
      {},
      requestFields(i).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    ),
    namedBy(i).length
      ? el(
          "p",
          {},
          `Topic-partitions: ${namedBy(i).map(partitionText).join(", ")}${REQ.n_partitions[i] > namedBy(i).length ? " …" : ""}`,
        )
      : null,
    el("h3", {}, "For Wireshark"),
    command(cutCommand("--request", id, `request-${id}`)),
    el(
      "p",
      { class: "row" },
      button("◂ Before", () => beside(-1), { class: "small" }),
      button("After ▸", () => beside(1), { class: "small" }),
      button(
        "Show in timeline",
        () => {
          reveal(i);
          jump("timeline");
        },
        { class: "small" },
      ),
      button("This client", () => PANEL.showClient(STORY.lanes.connections[REQ.conn[i]].client, true), {
        class: "small",
      }),
    ),
  );
  if (panel.hidden) PANEL.opener = document.activeElement as HTMLElement | null;
  panel.hidden = false;
  announce(requestLines(i).join(", "));
  viewChanged();
}

export function closePanel() {
  byId("panel").hidden = true;
  VIEW.request = -1;
  PANEL.opener?.focus?.();
  viewChanged();
}

// The request before or after on the same connection.
function beside(by: number) {
  const i = VIEW.request + by;
  if (i < 0 || i >= REQ.n || REQ.conn[i] !== REQ.conn[VIEW.request])
    return announce("No further request on this connection");
  select(i);
  return openRequest(i);
}
