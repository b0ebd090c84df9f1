// The canvas of the timeline and its size, for all that is drawn on its scale of time.

import type { Row } from "../layout/rows.ts";

// The elements of the timeline, and what it draws with. Complete once the section is made and `resized` was called.
interface Timeline {
  canvas: HTMLCanvasElement;
  labels: HTMLElement;
  ruler: HTMLCanvasElement;
  sticky: HTMLElement;
  spacer: HTMLElement;
  scroller: HTMLElement;
  labelsWidth: number;
  width: number;
  height: number;
  ratio: number;
  context: CanvasRenderingContext2D;
  rulerContext: CanvasRenderingContext2D;
  labelled: string | null;
  cursor?: number;
  drag?: { x: number; y: number; from: number; moved: boolean; select: number | null };
  pinch?: { apart: number };
}

export const TIMELINE = {} as Timeline;

export function sized(canvas: HTMLCanvasElement, width: number, height: number) {
  canvas.width = Math.round(width * TIMELINE.ratio);
  canvas.height = Math.round(height * TIMELINE.ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(TIMELINE.ratio, 0, 0, TIMELINE.ratio, 0, 0);
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

// Scrolls so that the row is in the middle.
export function scrollTo(row: Row | undefined) {
  if (row) TIMELINE.scroller.scrollTop = Math.max(0, row.top - TIMELINE.height / 2);
}
