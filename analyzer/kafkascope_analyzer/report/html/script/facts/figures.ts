// How times, durations, sizes and names are written; the same words as in the terminal report.

import { STORY } from "./data.ts";

export function span(us: number | null | undefined): string {
  if (us === null || us === undefined) return "";
  if (us < 0) return `-${span(-us)}`;
  if (us < 1000) return `${Math.round(us)} µs`;
  for (const [limit, unit, name] of [
    [1e6, 1e3, "ms"],
    [6e7, 1e6, "s"],
  ] as const) {
    if (us < limit) return `${three(us / unit)} ${name}`;
  }
  const minutes = Math.floor(us / 6e7);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${minutes} min ${Math.floor((us % 6e7) / 1e6)} s`;
}

function three(value: number) {
  return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

// As toFixed, but what lies exactly between two figures goes to the even one, as the other forms of the report have it.
function fixed(value: number, digits: number) {
  const scaled = value * 10 ** digits;
  const isTie = (2 * scaled) % 2 === 1 && Number.isInteger(value * 2 ** (digits + 1));
  const even = Math.floor(scaled) + (Math.floor(scaled) % 2);
  return (isTie ? even / 10 ** digits : value).toFixed(digits);
}

// Nanoseconds since the capture's start, as mm:ss.mmm; `digits` of the fraction.
export function clock(ns: number | null | undefined, digits: number = 3) {
  if (ns === null || ns === undefined) return "";
  const sign = ns < 0 ? "-" : "";
  const tick = 10 ** (9 - digits);
  const ticks = Math.floor(Math.abs(ns) / tick);
  const perSecond = 10 ** digits;
  const seconds = Math.floor(ticks / perSecond);
  const fraction = digits ? `.${String(ticks % perSecond).padStart(digits, "0")}` : "";
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  return `${sign}${hours ? `${hours}:` : ""}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fraction}`;
}

// The same as a date and time of day in UTC, to the millisecond.
export function wallClock(ns: number) {
  const ms = Number((BigInt(STORY.capture.origin) + BigInt(Math.floor(ns))) / 1000000n);
  return `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

export function grouped(n: number) {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// The same; nothing where the number is not known.
export function figure(n: number | null) {
  return n === null ? "" : grouped(n);
}

export function count(n: number, one: string, many?: string) {
  return `${grouped(n)} ${n === 1 ? one : many || `${one}s`}`;
}

export function bytes(n: number) {
  if (n < 1000) return `${n} B`;
  let unit = "";
  for (unit of ["kB", "MB", "GB", "TB"]) {
    n /= 1000;
    if (n < 1000) break;
  }
  return `${fixed(n, 1)} ${unit}`;
}

export function words(name: string | null | undefined) {
  return String(name ?? "").replaceAll("_", " ");
}

export function nodeName(id: number | null | undefined) {
  return id === null || id === undefined ? "unknown node" : `node ${id}`;
}

export function listOf(names: string[], most: number) {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} … and ${grouped(names.length - most)} more` : shown;
}

export function shortened(text: string, most: number) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
