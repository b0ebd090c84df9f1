// What the reader looks at, kept in the URL's fragment, so that a link shows the same.

import { clientPlace, END, findRequest, requestId, STORY } from "../facts/data.ts";
import { FILTER, FILTER_TEXTS } from "../facts/filter.ts";
import { onView, setView, VIEW } from "../layout/view.ts";

let pendingFragment = 0;

// Writes the fragment once nothing changed for a while.
export function keepFragment() {
  onView(fragmentLater);
  fragmentLater();
}

function fragmentLater() {
  clearTimeout(pendingFragment);
  pendingFragment = window.setTimeout(writeFragment, 250);
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
