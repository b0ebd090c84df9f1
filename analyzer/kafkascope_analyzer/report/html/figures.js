// How times, durations, sizes and names are written; the same words as in the terminal report.

function span(us) {
  if (us === null || us === undefined) return "";
  if (us < 0) return `-${span(-us)}`;
  if (us < 1000) return `${Math.round(us)} µs`;
  for (const [limit, unit, name] of [[1e6, 1e3, "ms"], [6e7, 1e6, "s"]]) {
    if (us < limit) return `${three(us / unit)} ${name}`;
  }
  const minutes = Math.floor(us / 6e7);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${minutes} min ${Math.floor((us % 6e7) / 1e6)} s`;
}

function three(value) {
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);
}

// Nanoseconds since the capture's start, as mm:ss.mmm; `digits` of the fraction.
function clock(ns, digits = 3) {
  if (ns === null || ns === undefined) return "";
  const sign = ns < 0 ? "-" : "";
  const tick = 10 ** (9 - digits);
  const ticks = Math.floor(Math.abs(ns) / tick);
  const perSecond = 10 ** digits;
  const seconds = Math.floor(ticks / perSecond);
  const fraction = digits ? `.${String(ticks % perSecond).padStart(digits, "0")}` : "";
  const two = (n) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  return `${sign}${hours ? `${hours}:` : ""}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fraction}`;
}

// The same as a date and time of day in UTC, to the millisecond.
function wallClock(ns) {
  const ms = Number(BigInt(STORY.capture.origin) / 1000000n) + Math.floor(ns / 1e6);
  return `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

// Of the same only the time of day, to set beside a log.
function timeOfDay(ns) {
  return wallClock(ns).slice(11, 23);
}

function grouped(n) {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function count(n, one, many) {
  return `${grouped(n)} ${n === 1 ? one : many || `${one}s`}`;
}

function bytes(n) {
  if (n < 1000) return `${n} B`;
  for (const name of ["kB", "MB", "GB"]) {
    n /= 1000;
    if (n < 1000 || name === "GB") return `${n.toFixed(1)} ${name}`;
  }
  return "";
}

function words(name) {
  return String(name ?? "").replaceAll("_", " ");
}

function nodeName(id) {
  return id === null || id === undefined ? "unknown node" : `node ${id}`;
}

function clientName(client) {
  return client.client_id
    || client.principal
    || (client.kind === "unassigned" ? client.client_ip : `(no client id) ${client.client_ip}`);
}

function listOf(names, most) {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} … and ${grouped(names.length - most)} more` : shown;
}

// How the end of an episode is shown: a sign of its own beside the colour.
const OUTCOMES = {
  recovered: ["✓", "good"],
  ready: ["✓", "good"],
  committed: ["✓", "good"],
  still_open: ["●", "warning"],
  open: ["●", "warning"],
  cut: ["✂", "muted"],
  aborted: ["↺", "warning"],
  gave_up: ["✕", "error"],
  failed: ["✕", "error"],
  fatal: ["✕", "error"],
  fenced: ["✕", "error"],
  hanging: ["✕", "error"],
  wrong_reaction: ["!", "error"],
};

function outcome(name, text) {
  const [sign, tone] = OUTCOMES[name] || ["·", "muted"];
  return el(
    "span",
    { class: `outcome ${tone}` },
    el("span", { "aria-hidden": "true" }, `${sign} `),
    text || words(name),
  );
}
