// The tooltip of the timeline: lines of text beside the pointer, or beside what the keyboard has chosen.

import { el, replace } from "./dom.ts";

const TIP = {} as { box: HTMLElement };

// The tooltip itself, for the box that it is placed in.
export function tipBox() {
  TIP.box = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  return TIP.box;
}

// Shows the lines beside a place of the window.
export function showTip(lines: string[], clientX: number, clientY: number) {
  const tip = TIP.box;
  replace(
    tip,
    lines.map((line, n) => el(n ? "div" : "strong", {}, line)),
  );
  tip.hidden = false;
  const box = (tip.parentElement as Element).getBoundingClientRect();
  const left = Math.min(clientX - box.left + 14, box.width - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(0, left)}px`;
  tip.style.top = `${clientY - box.top + 16}px`;
}

export function hideTip() {
  TIP.box.hidden = true;
}
