// Colours and patterns of the families of APIs, so that neither is needed alone.

import { STORY } from "../facts/data.ts";
import { svg } from "./dom.ts";

// Colours and canvas patterns, as the style sheet has them for the light or the dark page.
interface Ink {
  families: string[];
  patterns: (string | CanvasPattern)[];
  surface: string;
  ink: string;
  muted: string;
  line: string;
  stripe: string;
  error: string;
  warning: string;
  good: string;
  accent: string;
  start: string;
  recovery: string | CanvasPattern;
  slow: string | CanvasPattern;
  waiting: string | CanvasPattern;
  starting: string | CanvasPattern;
}

export let INK: Ink;

// Colours as the style sheet has them for the light or the dark page, and canvas patterns made of them.
export function readInk(context: CanvasRenderingContext2D) {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const families = STORY.families.map((family) => read(family.name));
  const hatched = (kind: string, name: string, strength: number) =>
    canvasPattern(context, kind, read(name), "transparent", strength);
  INK = {
    families,
    patterns: STORY.families.map((family, n) => canvasPattern(context, family.pattern, families[n], read("surface"))),
    surface: read("surface"),
    ink: read("ink"),
    muted: read("muted"),
    line: read("line"),
    stripe: read("stripe"),
    error: read("error"),
    warning: read("warning"),
    good: read("good"),
    accent: read("accent"),
    start: read("start"),
    recovery: hatched("falling", "error", 0.35),
    slow: hatched("falling", "warning", 0.35),
    waiting: hatched("cross", "warning", 0.5),
    starting: hatched("rising", "start", 0.35),
  };
}

// Strokes of a tile of 6 by 6 that is repeated: from x and y to x and y.
export const STROKES: Record<string, number[][]> = {
  rising: [
    [0, 6, 6, 0],
    [-1, 1, 1, -1],
    [5, 7, 7, 5],
  ],
  falling: [
    [0, 0, 6, 6],
    [-1, 5, 1, 7],
    [5, -1, 7, 1],
  ],
  upright: [[3, 0, 3, 6]],
  level: [[0, 3, 6, 3]],
  cross: [
    [0, 6, 6, 0],
    [0, 0, 6, 6],
  ],
};

function canvasPattern(
  context: CanvasRenderingContext2D,
  kind: string,
  colour: string,
  gap: string,
  strength: number = 1,
) {
  if (kind === "solid") return colour;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d") as CanvasRenderingContext2D;
  brush.globalAlpha = strength;
  if (gap !== "transparent") {
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 6, 6);
  }
  brush.strokeStyle = brush.fillStyle = gap === "transparent" ? colour : gap;
  brush.lineWidth = 1.4;
  if (kind === "dots") brush.fillRect(2, 2, 2.4, 2.4);
  for (const [x, y, toX, toY] of STROKES[kind] || []) {
    brush.beginPath();
    brush.moveTo(x, y);
    brush.lineTo(toX, toY);
    brush.stroke();
  }
  return context.createPattern(tile, "repeat") ?? colour;
}

// A swatch for the legend and the lane's label: the same colour and pattern, as SVG.
export function swatch(familyNumber: number, size: number = 14) {
  const family = STORY.families[familyNumber];
  const strokes = (STROKES[family.pattern] || []).map(([x, y, toX, toY]) =>
    svg("line", { x1: x, y1: y, x2: toX, y2: toY, class: "cutout" }),
  );
  if (family.pattern === "dots")
    strokes.push(svg("rect", { x: 2, y: 2, width: 2.4, height: 2.4, class: "cutout-fill" }));
  const box = { class: "swatch", width: size, height: size, viewBox: "0 0 6 6", "aria-hidden": "true" };
  return svg("svg", box, svg("rect", { width: 6, height: 6, class: `family-${family.name}` }), strokes);
}
