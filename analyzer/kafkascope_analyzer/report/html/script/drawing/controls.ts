// What stands around the timeline: its legend, its buttons, how its keys work.

import { END, STORY } from "../facts/data.ts";
import { leftOut } from "../facts/left_out.ts";
import { openAll } from "../layout/rows.ts";
import { pan, setView, VIEW, zoom } from "../layout/view.ts";
import { button, el } from "./dom.ts";
import { swatch } from "./ink.ts";
import { nextError } from "./next_error.ts";

export function legend() {
  const families = STORY.families.map((family, n) => el("li", {}, swatch(n), family.title));
  const marks = [
    ["▼", "error or no answer", "error"],
    ["✕", "reset, refused, unanswered", "error"],
    ["⊐", "closed: server, client (⊏)", "muted"],
    ["◆", "leader or coordinator moved", "accent"],
    ["▨", "start", "start"],
    ["▧", "recovery; broker that does not serve", "error"],
    ["▦", "wait of a client that stalled", "warning"],
  ];
  return el(
    "ul",
    { class: "legend", "aria-label": "Legend" },
    families,
    marks.map(([sign, text, tone]) =>
      el("li", {}, el("span", { class: `sign ${tone}`, "aria-hidden": "true" }, sign), text),
    ),
  );
}

export function zoomButtons() {
  const middle = () => (VIEW.from + VIEW.to) / 2;
  const extra = { class: "small" };
  return el(
    "div",
    { class: "zoom", role: "group", "aria-label": "Zoom and move" },
    button("◂ Earlier", () => pan(-0.5), extra),
    button("Later ▸", () => pan(0.5), extra),
    button("+ Zoom in", () => zoom(0.5, middle()), extra),
    button("− Zoom out", () => zoom(2, middle()), extra),
    button("Whole capture", () => setView(0, END), extra),
    button("Next error", () => nextError(), extra),
    button("Open all", () => openAll(true), extra),
    button("Close all", () => openAll(false), extra),
  );
}

export function timelineKeys() {
  return el(
    "p",
    { class: "hint", id: "timeline-keys" },
    "Drag to move; Ctrl + wheel or pinch to zoom (after a click into the timeline the wheel alone); Shift + drag to zoom into a stretch. Keys: ← → move, + − zoom, 0 all, ↑ ↓ row, N P next and previous request in the row, Enter shows it, O opens the client, E next error.",
  );
}

export function thinned() {
  const text = leftOut();
  return text ? el("p", { class: "hint", id: "thinned" }, text) : null;
}
