// The whole capture in one strip: how many requests, how many of them in trouble, and the part that is shown below.

import { BANDS } from "../facts/bands.ts";
import { END } from "../facts/data.ts";
import { MASK } from "../facts/filter.ts";
import { type Counts, countColumns } from "../layout/density.ts";
import { centre, setView, VIEW } from "../layout/view.ts";
import { el } from "./dom.ts";
import { INK } from "./ink.ts";
import { sized, TIMELINE } from "./stage.ts";
import { drawError, outlined } from "./strokes.ts";

const MAP_HEIGHT = 44;

const MAP = { counts: null, grip: null } as {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  width: number;
  picture: HTMLCanvasElement;
  counts: Counts | null;
  grip: number | null;
};

export function minimap() {
  MAP.canvas = el("canvas", { class: "minimap", "aria-hidden": "true" });
  MAP.canvas.addEventListener("pointerdown", mapDown);
  MAP.canvas.addEventListener("pointermove", mapMove);
  MAP.canvas.addEventListener("pointerup", () => (MAP.grip = null));
  return el("div", { class: "map" }, MAP.canvas);
}

export function resizedMinimap() {
  MAP.width = TIMELINE.width;
  MAP.context = sized(MAP.canvas, MAP.width, MAP_HEIGHT);
  MAP.counts = null;
}

// The picture below the shown part, made again only after the filter or the size changed.
function countMap() {
  MAP.counts = countColumns(MAP.width);
  MAP.picture = document.createElement("canvas");
  MAP.picture.width = MAP.canvas.width;
  MAP.picture.height = MAP.canvas.height;
  const context = MAP.picture.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(TIMELINE.ratio, 0, 0, TIMELINE.ratio, 0, 0);
  paintMap(context);
}

function paintMap(context: CanvasRenderingContext2D) {
  const { all, trouble, most } = MAP.counts as Counts;
  context.fillStyle = INK.stripe;
  context.fillRect(0, 0, MAP.width, MAP_HEIGHT);
  for (const bands of BANDS.values()) {
    context.fillStyle = INK.recovery;
    for (const band of bands.filter((one) => one.kind === "recovery"))
      context.fillRect(
        (band.from_ns / END) * MAP.width,
        0,
        Math.max(1, ((band.to - band.from_ns) / END) * MAP.width),
        5,
      );
  }
  for (let x = 0; x < MAP.width; x++) {
    if (!all[x]) continue;
    const tall = 2 + (Math.log1p(all[x]) / Math.log1p(most)) * (MAP_HEIGHT - 14);
    context.fillStyle = INK.muted;
    context.fillRect(x, MAP_HEIGHT - tall, 1, tall);
    if (trouble[x]) drawError(context, x, 8, 4);
  }
}

export function drawMinimap() {
  if (!MAP.counts || MAP.counts.mask !== MASK) countMap();
  const { context } = MAP;
  context.clearRect(0, 0, MAP.width, MAP_HEIGHT);
  context.drawImage(MAP.picture, 0, 0, MAP.width, MAP_HEIGHT);
  const from = (VIEW.from / END) * MAP.width;
  const wide = Math.max(3, ((VIEW.to - VIEW.from) / END) * MAP.width);
  context.fillStyle = INK.surface;
  context.globalAlpha = 0.6;
  context.fillRect(0, 0, from, MAP_HEIGHT);
  context.fillRect(from + wide, 0, MAP.width - from - wide, MAP_HEIGHT);
  context.globalAlpha = 1;
  outlined(context, [from, 0, wide, MAP_HEIGHT], INK.accent, 2);
}

function mapTime(event: PointerEvent) {
  return ((event.clientX - MAP.canvas.getBoundingClientRect().left) / MAP.width) * END;
}

function mapDown(event: PointerEvent) {
  const at = mapTime(event);
  MAP.canvas.setPointerCapture(event.pointerId);
  if (at < VIEW.from || at > VIEW.to) centre(at);
  MAP.grip = at - VIEW.from;
}

function mapMove(event: PointerEvent) {
  if (MAP.grip === null || MAP.grip === undefined) return;
  const from = mapTime(event) - MAP.grip;
  setView(from, from + VIEW.to - VIEW.from);
}
