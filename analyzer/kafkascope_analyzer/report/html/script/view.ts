// What the reader looks at: the stretch of time, the filter, what is open. It is kept in the URL's fragment, so that a
// link shows the same.

import { clientPlace, END, findRequest, requestId, STORY } from "./data.ts";

interface View {
  from: number;
  to: number;
  open: Set<number>;
  request: number;
  client: number;
  at: number | null;
  brokers: boolean;
}

export type Filter = typeof FILTER;

export const VIEW: View = { from: 0, to: 1, open: new Set(), request: -1, client: -1, at: null, brokers: false };
export const FILTER = { text: "", client: "", group: "", topic: "", api: "", error: "", role: "", errors: false };
export const FILTER_TEXTS = ["text", "client", "group", "topic", "api", "error", "role"] as const;
const VIEW_LISTENERS: (() => void)[] = [];
const SHORTEST_VIEW = 2000;

export function onView(listener: () => void) {
  VIEW_LISTENERS.push(listener);
}

let pendingFrame = 0;
let pendingFragment = 0;

// Draws once before the next frame, however often it is called.
export function viewChanged() {
  if (!pendingFrame) pendingFrame = requestAnimationFrame(drawView);
  clearTimeout(pendingFragment);
  pendingFragment = window.setTimeout(writeFragment, 250);
}

function drawView() {
  pendingFrame = 0;
  for (const listener of VIEW_LISTENERS) listener();
}

// Shows from .. to (ns), moved so that it stays within the capture and is not too short.
export function setView(from: number, to: number) {
  const length = Math.min(END, Math.max(SHORTEST_VIEW, to - from));
  from = Math.min(Math.max(0, from), END - length);
  VIEW.from = from;
  VIEW.to = from + length;
  viewChanged();
}

export function zoom(factor: number, around: number) {
  setView(around - (around - VIEW.from) * factor, around + (VIEW.to - around) * factor);
}

export function pan(share: number) {
  const by = (VIEW.to - VIEW.from) * share;
  setView(VIEW.from + by, VIEW.to + by);
}

// Shows a stretch with room on both sides.
export function showStretch(from: number, to: number) {
  const room = Math.max((to - from) * 0.25, 2e6);
  setView(from - room, to + room);
}

function writeFragment() {
  const parts = new URLSearchParams();
  if (VIEW.from > 0 || VIEW.to < END) parts.set("t", `${Math.round(VIEW.from)}-${Math.round(VIEW.to)}`);
  for (const [name, value] of Object.entries(FILTER)) if (value) parts.set(name, value === true ? "1" : value);
  if (VIEW.open.size && VIEW.open.size <= 20) parts.set("open", [...VIEW.open].sort((a, b) => a - b).join("."));
  if (VIEW.brokers) parts.set("brokers", "1");
  if (VIEW.request >= 0) parts.set("request", requestId(VIEW.request));
  if (VIEW.client >= 0) parts.set("about", STORY.lanes.clients[VIEW.client].client_instance_id);
  if (VIEW.at !== null) parts.set("at", String(Math.round(VIEW.at)));
  const text = parts.toString();
  try {
    history.replaceState(null, "", text ? `#${text}` : "#");
  } catch {
    // Some viewers of attachments forbid it; then there is no link, and all else works.
  }
}

export function readFragment() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const [from, to] = (parts.get("t") || "").split("-").map(Number);
  for (const name of FILTER_TEXTS) FILTER[name] = parts.get(name) || "";
  FILTER.errors = parts.get("errors") === "1";
  const open = (parts.get("open") || "")
    .split(".")
    .filter((n) => /^\d+$/.test(n))
    .map(Number);
  VIEW.open = new Set(open.filter((n) => n < STORY.lanes.clients.length));
  VIEW.brokers = VIEW.brokers || parts.get("brokers") === "1";
  VIEW.request = parts.has("request") ? findRequest(parts.get("request") ?? "") : -1;
  if (parts.has("about")) VIEW.client = clientPlace(parts.get("about") ?? "");
  if (/^\d+$/.test(parts.get("at") || "")) VIEW.at = Math.min(Number(parts.get("at")), END);
  return Number.isFinite(from) && to > from ? setView(from, to) : setView(0, END);
}
