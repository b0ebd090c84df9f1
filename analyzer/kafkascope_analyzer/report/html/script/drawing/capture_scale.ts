// The scale of the capture's time and the names in the pictures of groups and transactions.

import { END } from "../facts/data.ts";
import { clock, shortened } from "../facts/figures.ts";
import { groupX, MARKS } from "../layout/capture_scale.ts";
import { svg } from "./dom.ts";

export const MOST_GROUPS = 30;

export function groupMarks(height: number) {
  return MARKS.map((share) => {
    const x = groupX(share * END);
    const text = { x, y: height - 6, "text-anchor": share === 1 ? "end" : "middle" };
    return [
      svg("line", { class: "grid", x1: x, x2: x, y1: 4, y2: height - 20 }),
      svg("text", text, clock(share * END, 0)),
    ];
  });
}

export function groupName(text: string, y: number) {
  return svg("text", { x: 212, y, "text-anchor": "end" }, shortened(text, 36));
}
