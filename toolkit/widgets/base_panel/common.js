// Shared by all panels: elements, one drawing a frame, the frame of a panel (status, lock, problem).

/** Return an element: h("td", { class: "num" }, "text", child, …). Text is always set as text, never as HTML. */
function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") for (const [event, call] of Object.entries(value)) made.addEventListener(event, call);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Set the text of an element only where it differs, so that nothing is laid out in vain. */
function put(element, text) {
  const wanted = text === null || text === undefined ? "" : String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

function toggle(element, name, on) {
  if (element.classList.contains(name) !== Boolean(on)) element.classList.toggle(name, Boolean(on));
}

function show(element, on) {
  if (element.hidden === Boolean(on)) element.hidden = !on;
}

/** Keep exactly `count` children made by `make(index)`, and return them. */
function rows(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make(parent.children.length));
  return parent.children;
}

/** up or down by the arrow or sign a text begins with. */
function tone(text) {
  const first = String(text || "").charAt(0);
  return "▲+".includes(first) && first ? "up" : "▼−".includes(first) && first ? "down" : "";
}

function paint(element, text) {
  put(element, text);
  const kind = tone(text);
  toggle(element, "tk-up", kind === "up");
  toggle(element, "tk-down", kind === "down");
}

let panels = 0;

/** Make the frame of a panel, and draw at most once a display frame. `build(body, id)` returns the function that draws. */
function panel(model, el, title, build) {
  const id = `tk${++panels}-${Math.random().toString(36).slice(2, 7)}`;
  const heading = h("h3", { class: "tk-title", id: `${id}-title` });
  const note = h("span", { class: "tk-note" });
  const lamp = h("span", { class: "tk-lamp", "aria-hidden": "true" });
  const lampText = h("span", { class: "tk-lamp-text", role: "status", "aria-live": "polite" });
  const head = h("header", { class: "tk-head" }, heading, note, h("span", { class: "tk-state" }, lamp, lampText));
  const veil = h("p", { class: "tk-veil", role: "status", "aria-live": "polite", hidden: true });
  const problem = h("p", { class: "tk-problem", role: "alert", hidden: true });
  const body = h("div", { class: "tk-body" });
  const root = h(
    "section", { class: "tk tk-panel", "aria-labelledby": `${id}-title`, "data-lm-suppress-shortcuts": "true" }, head, veil, body, problem,
  );
  const draw = build(body, id, { root, heading, note, head });
  let asked = 0;
  const now = () => {
    asked = 0;
    const lock = model.get("lock");
    put(heading, title(model.get("view") || {}));
    put(lampText, lock ? (lock === "closed" ? "closed" : "stale") : "live");
    toggle(root, "tk-locked", lock);
    put(veil, lock ? `⚠ ${lock}` : "");
    show(veil, lock);
    put(problem, model.get("problem") ? `✖ ${model.get("problem")}` : "");
    show(problem, model.get("problem"));
    const colors = model.get("colors") || {};
    for (const name of ["up", "down"]) {
      if (colors[name]) root.style.setProperty(`--tk-${name}`, colors[name]);
      else root.style.removeProperty(`--tk-${name}`);
    }
    draw(model.get("view") || {}, lock);
  };
  const schedule = () => {
    if (!asked) asked = requestAnimationFrame(now);
  };
  model.on("change", schedule);
  el.append(root);
  now();
  return () => {
    model.off("change", schedule);
    if (asked) cancelAnimationFrame(asked);
  };
}

/** A table with a caption for screen readers. */
function grid(caption, columns) {
  const body = h("tbody");
  const head = h(
    "tr", {}, ...columns.map((column) => h("th", { scope: "col", class: column.num ? "tk-num" : null }, column.name)),
  );
  const table = h("table", { class: "tk-table" }, h("caption", { class: "tk-hidden" }, caption), h("thead", {}, head), body);
  return { table, body };
}

/** A button that asks once more: the first press arms it for a few seconds, the second one sends. */
function careful(label, question, send) {
  let timer = 0;
  const button = h("button", { type: "button", class: "tk-small" }, label());
  const calm = () => {
    clearTimeout(timer);
    timer = 0;
    button.classList.remove("tk-armed");
    put(button, label());
    button.setAttribute("aria-label", button.dataset.name || label());
  };
  button.addEventListener("click", () => {
    if (timer) {
      calm();
      send();
      return;
    }
    put(button, question());
    button.setAttribute("aria-label", `${question()} ${button.dataset.name || ""}. Press again to confirm.`);
    button.classList.add("tk-armed");
    timer = setTimeout(calm, 5000);
  });
  button.addEventListener("blur", () => timer && calm());
  return button;
}
