// How elements are made: every string becomes a text node or an attribute, never markup.

// What an element may have inside: nothing, text, a number, nodes, or lists of these.
export type Child = Node | string | number | null | undefined | false | Child[];

// Attributes; those that begin with "on" are listeners.
type Attributes = Record<string, unknown>;

const SVG_SPACE = "http://www.w3.org/2000/svg";

function filled<E extends Element>(node: E, attributes: Attributes | null, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value as EventListener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...nodesOf(children));
  return node;
}

function nodesOf(children: Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    if (Array.isArray(child)) return nodesOf(child);
    return [typeof child === "object" ? child : String(child)];
  });
}

// The element with this id, which the page always has.
export function byId(id: string): HTMLElement {
  return document.getElementById(id) as HTMLElement;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name: string, attributes: Attributes | null, ...children: Child[]) {
  return filled(document.createElementNS(SVG_SPACE, name), attributes, children);
}

export function replace(node: Element, ...children: Child[]) {
  node.replaceChildren(...nodesOf(children));
  return node;
}

export function button(text: Child, onclick: (event: Event) => void, attributes: Attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

// Whether the page is as narrow as a phone. What depends on it is decided once, when the page is put together.
export function isNarrow() {
  return window.innerWidth < 700;
}

// A section of the page with its heading and the place in the navigation.
export function section(id: string, title: string, ...children: Child[]) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...children);
}

// A picture with its name, in a box that scrolls sideways where the page is narrow.
export function picture(
  kind: string,
  { width, height, name }: { width: number; height: number; name: string },
  ...children: Child[]
) {
  const drawn = svg(
    "svg",
    { class: kind, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name },
    children,
  );
  return el("div", { class: "picture", role: "group", "aria-label": name, tabindex: "0" }, drawn);
}

/** The first line of a page: its title, and the command that writes such pages. */
export function brand(title: string, command: string) {
  return el(
    "div",
    { class: "brand" },
    el("span", { class: "logo", "aria-hidden": "true" }, "◉"),
    el("h1", {}, title),
    el("span", { class: "tool" }, command),
  );
}

export function hint(...children: Child[]) {
  return el("p", { class: "hint" }, ...children);
}

// A command to copy. The button says when it was copied, or selects the text where the browser forbids it.
export function command(text: string) {
  const code = el("code", {}, text);
  const copy = button("Copy", () => copied(code, copy), { class: "small", "aria-label": `Copy the command ${text}` });
  return el("span", { class: "command" }, code, copy);
}

function copied(code: HTMLElement, copy: HTMLElement) {
  const select = () => getSelection()?.selectAllChildren(code);
  if (!navigator.clipboard) return select();
  return navigator.clipboard.writeText(code.textContent ?? "").then(() => {
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  }, select);
}

export function details(summary: Child, open: boolean, ...children: Child[]) {
  return el("details", { open }, el("summary", {}, summary), ...children);
}

// A details element whose content is made when it is first opened.
export function filledWhenOpen(made: HTMLDetailsElement, body: () => Child) {
  const fill = () => made.open && made.childElementCount === 1 && made.append(...nodesOf([body()]));
  made.addEventListener("toggle", fill);
  fill();
  return made;
}

// Says something to screen readers without moving the focus.
export function announce(text: string) {
  byId("announcer").textContent = text;
}

export function jump(id: string) {
  byId(id).scrollIntoView({
    behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
    block: "start",
  });
}
