// How elements are made: every string becomes a text node or an attribute, never markup.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

function el(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG_SPACE, name), attributes, children);
}

function replace(node, ...children) {
  node.replaceChildren(...children.flat(4).filter((child) => child !== null
    && child !== undefined
    && child !== false));
  return node;
}

function button(text, onclick, attributes) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

// A section of the page with its heading and the place in the navigation.
function section(id, title, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...children);
}

// A table in a region that scrolls. columns: [title, class]; rows: lists of cells, or {cells, attributes}.
function table(caption, columns, rows, attributes) {
  const head = el("tr", {}, columns.map(([title, kind]) => el("th", { scope: "col", class: kind }, title)));
  const body = rows.map((row) => {
    const cells = Array.isArray(row) ? row : row.cells;
    return el("tr", Array.isArray(row) ? {} : row.attributes, cells.map((cell, n) => {
      const name = n === 0 ? "th" : "td";
      return el(name, { scope: n === 0 ? "row" : null, class: columns[n][1] }, cell);
    }));
  });
  const made = el("table", attributes, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body));
  return el("div", { class: "scrolls", role: "region", "aria-label": caption, tabindex: "0" }, made);
}

// A picture with its name, in a box that scrolls sideways where the page is narrow.
function picture(kind, { width, height, name }, ...children) {
  const drawn = svg(
    "svg",
    { class: kind, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name },
    children,
  );
  return el("div", { class: "picture", role: "group", "aria-label": name, tabindex: "0" }, drawn);
}

function hint(...children) {
  return el("p", { class: "hint" }, ...children);
}

// A command to copy. The button says when it was copied, or selects the text where the browser forbids it.
function command(text) {
  const code = el("code", {}, text);
  const copy = button("Copy", () => copied(code, copy), { class: "small", "aria-label": `Copy the command ${text}` });
  return el("span", { class: "command" }, code, copy);
}

function copied(code, copy) {
  const select = () => getSelection().selectAllChildren(code);
  if (!navigator.clipboard) return select();
  return navigator.clipboard.writeText(code.textContent).then(() => {
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  }, select);
}

function details(summary, open, ...children) {
  return el("details", { open }, el("summary", {}, summary), ...children);
}

// Says something to screen readers without moving the focus.
function announce(text) {
  document.getElementById("announcer").textContent = text;
}
