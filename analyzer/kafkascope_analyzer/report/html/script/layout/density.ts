// Requests by column of pixels, where there are too many to draw each.

import { END, REQ, STORY } from "../facts/data.ts";
import { isTrouble, MASK } from "../facts/filter.ts";
import { VIEW } from "./view.ts";

export const BIN = 2;
export const TROUBLE = 7;
export const SHARES = new Float32Array(8 * 4096);

// Fills SHARES with the requests of these ranges by column of BIN pixels and family; gives the number of columns.
export function fillShares(ranges: number[][], width: number) {
  const nBins = Math.min(4096, Math.ceil(width / BIN));
  SHARES.fill(0, 0, nBins * 8);
  for (const [from, to] of ranges) fillBins(from, to, nBins);
  return nBins;
}

function fillBins(from: number, to: number, nBins: number) {
  const scale = nBins / (VIEW.to - VIEW.from);
  for (let i = from; i < to; i++) {
    if (!MASK[i]) continue;
    const bin = Math.floor((REQ.start[i] - VIEW.from) * scale);
    if (bin < 0 || bin >= nBins) continue;
    SHARES[bin * 8 + STORY.requests.families[REQ.api[i]]] += REQ.weight[i];
    if (isTrouble(i)) SHARES[bin * 8 + TROUBLE] += REQ.weight[i];
  }
}

export interface Counts {
  all: Float64Array;
  trouble: Float64Array;
  mask: Uint8Array;
  most: number;
}

// All requests of the capture that the filter passes, by column of one pixel.
export function countColumns(width: number): Counts {
  const all = new Float64Array(width);
  const trouble = new Float64Array(width);
  const scale = width / END;
  for (let i = 0; i < REQ.n; i++) {
    if (!MASK[i]) continue;
    const x = Math.min(width - 1, Math.floor(REQ.start[i] * scale));
    all[x] += REQ.weight[i];
    if (isTrouble(i)) trouble[x] += REQ.weight[i];
  }
  return { all, trouble, mask: MASK, most: all.reduce((a, b) => Math.max(a, b), 1) };
}
