// Where a time of the capture is in the pictures of groups and transactions.

import { END } from "../facts/data.ts";

export const MARKS = [0, 0.25, 0.5, 0.75, 1];

// Where a time of the capture is in the pictures of this part, and the marks of the scale.
export function groupX(ns: number) {
  return 220 + (Math.max(0, Math.min(ns, END)) / END) * 730;
}
