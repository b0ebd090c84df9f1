// Waits of clients, by client, and states of brokers, as text.

import { clientPlace, END, STORY } from "./data.ts";
import { clock } from "./figures.ts";
import type { BrokerLane, StallBand, Stretch } from "./story.d.ts";

// A wait as it is drawn: up to the end of the capture where it is not over.
export interface LongWait extends StallBand {
  from: number;
  to: number;
}
export const WAITS = new Map<number, LongWait[]>();

export function prepareWaits() {
  for (const wait of STORY.stalls) {
    const number = clientPlace(wait.client_instance_id ?? "");
    if (number < 0) continue;
    const mine = WAITS.get(number) ?? [];
    WAITS.set(number, [...mine, { ...wait, from: wait.from_ns, to: wait.to_ns ?? END }]);
  }
}

// Waits that overlap as one stretch, with the words of the longest.
export function joined(waits: LongWait[]) {
  const made: { from: number; to: number; text: string; most: number }[] = [];
  for (const wait of waits) {
    const last = made.at(-1);
    if (!last || wait.from > last.to) {
      made.push({ from: wait.from, to: wait.to, text: wait.text, most: wait.to - wait.from });
      continue;
    }
    last.to = Math.max(last.to, wait.to);
    if (wait.to - wait.from > last.most) Object.assign(last, { text: wait.text, most: wait.to - wait.from });
  }
  return made;
}

export function waitsAt(number: number, at: number) {
  const found = (WAITS.get(number) || []).filter((wait) => wait.from <= at && at <= wait.to).slice(0, 4);
  return found.map((wait) => `${clock(wait.from)} ${wait.text}`);
}

export function nodeText(lane: BrokerLane, at: number) {
  const found = [...lane.failing, ...lane.serving].filter((one) => one.from_ns <= at && at <= (one.to_ns ?? END));
  return found.length ? [lane.label, ...found.map(stretchText)] : [lane.label, "nobody waited for anything"];
}

export function stretchText(one: Stretch) {
  return `${one.text}, ${one.begun} to ${one.ended}`;
}
