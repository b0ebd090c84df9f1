// When the page draws what is in view: once before the next frame, however often it changed.

import { onView } from "../layout/view.ts";

const DRAWINGS: (() => void)[] = [];
let pendingFrame = 0;

// Draws these whenever what is in view changed, and once now.
export function drawOnFrames(...drawings: (() => void)[]) {
  DRAWINGS.push(...drawings);
  onView(frameLater);
  frameLater();
}

function frameLater() {
  if (!pendingFrame) pendingFrame = requestAnimationFrame(drawView);
}

function drawView() {
  pendingFrame = 0;
  for (const draw of DRAWINGS) draw();
}
