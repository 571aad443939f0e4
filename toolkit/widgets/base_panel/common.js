// Shared by all panels: elements, drawing once a display frame, the header of a panel (status, lock, problem).

/** Return an element: h("td", { class: "num" }, "text", child, …). Text is always set as text, never as HTML. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set the text of an element only if it differs: an equal text would still cause a layout. */
function setText(element, text) {
  const wanted = text === null || text === undefined ? "" : String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

function toggleClass(element, name, on) {
  if (element.classList.contains(name) !== Boolean(on)) element.classList.toggle(name, Boolean(on));
}

function setVisible(element, on) {
  if (element.hidden === Boolean(on)) element.hidden = !on;
}

/** Add children made by `make(index)` or remove some until there are `count`, and return them. */
function fitRows(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make(parent.children.length));
  return parent.children;
}

/** Return "up" or "down" for the arrow or sign at the start of a text, "" without one. */
function direction(text) {
  const first = String(text || "").charAt(0);
  return "▲+".includes(first) && first ? "up" : "▼−".includes(first) && first ? "down" : "";
}

/** Set a text and colour it by its arrow or sign. */
function setSignedText(element, text) {
  setText(element, text);
  const kind = direction(text);
  toggleClass(element, "tk-up", kind === "up");
  toggleClass(element, "tk-down", kind === "down");
}

let panelCount = 0;

/** Make the header and body of a panel. `build(body, id)` returns the function that draws, at most once a display frame. */
function renderPanel(model, el, title, build) {
  const id = `tk${++panelCount}-${Math.random().toString(36).slice(2, 7)}`;
  const heading = h("h3", { class: "tk-title", id: `${id}-title` });
  const note = h("span", { class: "tk-note" });
  const dot = h("span", { class: "tk-dot", "aria-hidden": "true" });
  const status = h("span", { class: "tk-status", role: "status", "aria-live": "polite" });
  const head = h("header", { class: "tk-head" }, heading, note, h("span", { class: "tk-state" }, dot, status));
  const lockNote = h("p", { class: "tk-lock", role: "status", "aria-live": "polite", hidden: true });
  const problem = h("p", { class: "tk-problem", role: "alert", hidden: true });
  const body = h("div", { class: "tk-body" });
  const root = h(
    "section", { class: "tk tk-panel", "aria-labelledby": `${id}-title`, "data-lm-suppress-shortcuts": "true" }, head, lockNote, body, problem,
  );
  const draw = build(body, id, { root, heading, note, head });
  let request = 0;
  const drawNow = () => {
    request = 0;
    const lock = model.get("lock");
    setText(heading, title(model.get("view") || {}));
    setText(status, lock ? (lock === "closed" ? "closed" : "stale") : "live");
    toggleClass(root, "tk-locked", lock);
    setText(lockNote, lock ? `⚠ ${lock}` : "");
    setVisible(lockNote, lock);
    setText(problem, model.get("problem") ? `✖ ${model.get("problem")}` : "");
    setVisible(problem, model.get("problem"));
    const colors = model.get("colors") || {};
    for (const name of ["up", "down"]) {
      if (colors[name]) root.style.setProperty(`--tk-${name}`, colors[name]);
      else root.style.removeProperty(`--tk-${name}`);
    }
    draw(model.get("view") || {}, lock);
  };
  const schedule = () => {
    // Many traits change at once; they are drawn together in the next frame.
    if (!request) request = requestAnimationFrame(drawNow);
  };
  model.on("change", schedule);
  el.append(root);
  drawNow();
  return () => {
    model.off("change", schedule);
    if (request) cancelAnimationFrame(request);
  };
}

/** Return a table with a caption for screen readers, and its body. */
function makeTable(caption, columns) {
  const body = h("tbody");
  const head = h(
    "tr", {}, ...columns.map((column) => h("th", { scope: "col", class: column.num ? "tk-num" : null }, column.name)),
  );
  const table = h("table", { class: "tk-table" }, h("caption", { class: "tk-hidden" }, caption), h("thead", {}, head), body);
  return { table, body };
}

/** Draw one row for each key; a row is kept while others change, so that its button stays armed. */
function drawKeyed(parent, list, key, make, fill) {
  const known = new Map([...parent.children].map((row) => [row.dataset.key, row]));
  list.forEach((one, index) => {
    const row = known.get(key(one)) || make(one);
    row.dataset.key = key(one);
    known.delete(key(one));
    row.item = one;
    // Moved only if necessary: moving a row takes the focus from its button.
    if (parent.children[index] !== row) parent.insertBefore(row, parent.children[index] || null);
    fill(row.children, one, row);
  });
  for (const row of known.values()) row.remove();
}

const ARMED_MS = 5000;

/** Return a button that asks for confirmation: the first press arms it for a few seconds, the second one sends. */
function confirmButton(label, question, send) {
  let timer = 0;
  const button = h("button", { type: "button", class: "tk-small" }, label());
  const disarm = () => {
    clearTimeout(timer);
    timer = 0;
    button.classList.remove("tk-armed");
    setText(button, label());
    button.setAttribute("aria-label", button.dataset.name || label());
  };
  button.addEventListener("click", () => {
    if (timer) {
      disarm();
      send();
      return;
    }
    setText(button, question());
    button.setAttribute("aria-label", `${question()} ${button.dataset.name || ""}. Press again to confirm.`);
    button.classList.add("tk-armed");
    timer = setTimeout(disarm, ARMED_MS);
  });
  button.addEventListener("blur", () => timer && disarm());
  return button;
}
