// Starts and recoveries of clients, by client.

import { clientPlace, END, STORY } from "./data.ts";
import type { Band } from "./story.d.ts";

// A band as it is drawn: up to the end of the capture where it is not over.
export interface LongBand extends Band {
  to: number;
}

export const BANDS = new Map<number, LongBand[]>();

export function prepareBands() {
  for (const band of STORY.bands) {
    const number = clientPlace(band.client_instance_id);
    if (number < 0) continue;
    BANDS.set(number, [...(BANDS.get(number) ?? []), { ...band, to: band.to_ns ?? END }]);
  }
}
