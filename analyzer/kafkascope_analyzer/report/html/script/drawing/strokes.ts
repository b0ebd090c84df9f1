// What is drawn on a canvas again and again: outlines, words on a plain ground, marks.

import { INK } from "./ink.ts";

export interface TextBox {
  y: number;
  colour: string;
  room: number;
}

export function outlined(
  context: CanvasRenderingContext2D,
  [x, y, width, height]: number[],
  colour: string,
  line: number = 1,
) {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
}

const TEXT_WIDTHS = new Map<string, number>();

export function textWidth(context: CanvasRenderingContext2D, text: string) {
  const known = TEXT_WIDTHS.get(text) ?? context.measureText(text).width;
  TEXT_WIDTHS.set(text, known);
  return known;
}

export function bandText(context: CanvasRenderingContext2D, text: string, x: number, { y, colour, room }: TextBox) {
  const wide = textWidth(context, text);
  if (wide > room) return;
  context.fillStyle = INK.stripe;
  context.fillRect(x - 1, y, wide + 2, 10);
  context.fillStyle = colour;
  context.fillText(text, x, y + 5.5);
}

// Words on a hatched stretch, on a plain ground, where they have room: whole, else without what stands in brackets.
export function hatchText(
  context: CanvasRenderingContext2D,
  text: string,
  [left, wide]: number[],
  { y, colour }: { y: number; colour: string },
) {
  const x = Math.max(0, left) + 5;
  const room = left + wide - x - 3;
  const short = text.replace(/ \(.*\)$/, "");
  const shown = [text, short, text.split(/[:(]/)[0].trim(), text.split(" ")[0]].find(
    (one) => textWidth(context, one) <= room,
  );
  if (shown) bandText(context, shown, x, { y, colour, room });
}

// An error is a triangle at the top of the lane, as tall as it is red.
export function drawError(context: CanvasRenderingContext2D, x: number, y: number, height: number) {
  context.fillStyle = INK.error;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y - 4);
  context.lineTo(x, y + 4);
  context.fill();
  context.fillRect(x - 0.5, y, 1, height);
}

export function drawEnd(context: CanvasRenderingContext2D, kind: string | null, x: number, middle: number) {
  const bad = kind !== "fin_client" && kind !== "fin_server";
  context.strokeStyle = bad ? INK.error : INK.muted;
  context.lineWidth = 1.6;
  context.beginPath();
  if (bad) {
    context.moveTo(x - 4, middle - 4);
    context.lineTo(x + 4, middle + 4);
    context.moveTo(x + 4, middle - 4);
    context.lineTo(x - 4, middle + 4);
  } else {
    const side = kind === "fin_server" ? 3 : -3;
    context.moveTo(x + side, middle - 5);
    context.lineTo(x, middle - 5);
    context.lineTo(x, middle + 5);
    context.lineTo(x + side, middle + 5);
  }
  context.stroke();
}
