// Where the bands of a client's lane are: starts along its foot, recoveries along its top.

import { BANDS, type LongBand } from "../facts/bands.ts";
import type { ClientRow } from "./rows.ts";
import { xOf } from "./scale.ts";
import { VIEW } from "./view.ts";

export interface BandBox {
  y: number;
  left: number;
  wide: number;
}

// The bands that reach into the view.
export function bandBoxes(row: ClientRow, top: number, width: number): { band: LongBand; box: BandBox }[] {
  const seen = (BANDS.get(row.number) || []).filter((band) => band.to >= VIEW.from && band.from_ns <= VIEW.to);
  return seen.map((band) => {
    const left = Math.max(-5, xOf(band.from_ns, width));
    const y = band.kind === "start" ? top + row.height - 10 : top + 2;
    return { band, box: { y, left, wide: Math.max(2, Math.min(width + 5, xOf(band.to, width)) - left) } };
  });
}
