// Times as places on the canvas: of the view, of requests, of the ruler.

import { lowerBound, REQ } from "../facts/data.ts";
import { VIEW } from "./view.ts";

// canvas x of a time.
export function xOf(ns: number, width: number) {
  return ((ns - VIEW.from) / (VIEW.to - VIEW.from)) * width;
}

// The places of a connection's requests that reach into the view.
export function rangeOf(conn: number) {
  const first = REQ.firstOf[conn];
  const last = REQ.firstOf[conn + 1];
  if (first === last) return [0, 0];
  const from = lowerBound(REQ.start, VIEW.from - REQ.longest[conn], first, last);
  return [from, lowerBound(REQ.start, VIEW.to, from, last)];
}

// The part of a stretch that is in view, as [left, width] on the canvas; null where none is.
export function extent(from: number, to: number, width: number) {
  if (to < VIEW.from || from > VIEW.to) return null;
  const left = Math.max(-5, xOf(from, width));
  return [left, Math.max(3, Math.min(width + 5, xOf(to, width)) - left)];
}

// Round times, some 90 pixels apart.
export function ticks(width: number) {
  const wish = ((VIEW.to - VIEW.from) * 90) / width;
  const power = 10 ** Math.floor(Math.log10(wish));
  const nice = [1, 2, 5, 10].map((n) => n * power);
  const step =
    wish > 1e9
      ? ([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]
          .map((s) => s * 1e9)
          .find((s) => s >= wish) ?? nice[3])
      : (nice.find((s) => s >= wish) ?? nice[3]);
  const found: number[] = [];
  for (let ns = Math.ceil(VIEW.from / step) * step; ns < VIEW.to; ns += step) found.push(ns);
  return { step, found };
}
