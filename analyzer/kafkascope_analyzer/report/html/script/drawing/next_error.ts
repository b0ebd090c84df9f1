// The next error after what is marked, as a button and a key ask for it.

import { nextTrouble } from "../layout/nearest.ts";
import { announce } from "./dom.ts";
import { openRequest } from "./panel.ts";
import { reveal } from "./reveal.ts";

export function nextError() {
  const i = nextTrouble();
  if (i < 0) return announce("No further error");
  reveal(i);
  return openRequest(i);
}
