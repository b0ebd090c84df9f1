// The data that the page holds, unpacked.

import { type Numbers, openStory } from "../facts/data.ts";
import type { Comparison } from "../facts/story.d.ts";
import { byId } from "./dom.ts";

const ARRAYS: Record<string, new (buffer: ArrayBuffer, at: number, length: number) => Numbers> = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f64: Float64Array,
};

async function inflated(id: string) {
  const node = byId(id);
  const text = node.textContent ?? "";
  node.remove();
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// The comparison of two captures, where the page is that of one; null on the page of a report.
export async function loadComparison(): Promise<Comparison | null> {
  const id = "data-comparison";
  if (!document.getElementById(id)) return null;
  return JSON.parse(new TextDecoder().decode(await inflated(id)));
}

export async function loadData() {
  const [story, columns] = await Promise.all([inflated("data-story"), inflated("data-columns")]);
  openStory(JSON.parse(new TextDecoder().decode(story)), columnsOf(columns));
}

export function columnsOf(buffer: ArrayBuffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const columns: Record<string, Numbers> = {};
  for (const [name, kind, length, at] of header) columns[name] = new ARRAYS[kind](buffer, 4 + size + at, length);
  return columns;
}
