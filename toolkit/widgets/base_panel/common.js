// Shared by all panels: elements, drawing once a display frame, the header of a panel (status, lock, problem).

/** Return an element: h("td", { class: "num" }, "text", child, …). Text is always set as text, never as HTML. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
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

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
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

/** Colour an element by the arrow or sign of a text. */
function colourBy(element, text) {
  const kind = direction(text);
  toggleClass(element, "tk-up", kind === "up");
  toggleClass(element, "tk-down", kind === "down");
}

/** Set a text and colour it by its arrow or sign. */
function setSignedText(element, text) {
  setText(element, text);
  colourBy(element, text);
}

/** Return a small button that calls `press`. */
function smallButton(label, press, attributes) {
  return h("button", { type: "button", class: "tk-small", on: { click: press }, ...attributes }, label);
}

/** Return a group of buttons of which some are pressed: `draw` takes their texts and those of the pressed ones, `press` a text. */
function switchGroup(label, press) {
  const group = h("div", { class: "tk-switch", role: "group", "data-rove": true, "aria-label": label });
  const make = () => smallButton("", (event) => press(event.currentTarget.textContent));
  const draw = (names, pressed) => {
    const buttons = fitRows(group, names.length, make);
    names.forEach((name, index) => {
      setText(buttons[index], name);
      setAttribute(buttons[index], "aria-pressed", String(pressed.includes(name)));
    });
  };
  return { group, draw };
}

/** Keep keys from the notebook, which takes them for its shortcuts: D, D deletes a cell, arrows leave it. Saving stays its own. */
function keepKeys(root) {
  const saves = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
  // Notebook 7 takes keys on their way down, before the panel: it leaves those of an element that says so.
  const mark = (event) => root.contains(event.target) && event.target.toggleAttribute("data-lm-suppress-shortcuts", !saves(event));
  window.addEventListener("keydown", mark, true);
  root.addEventListener("keydown", (event) => {
    moveFocus(event);
    if (!saves(event)) event.stopPropagation();
  });
  return () => window.removeEventListener("keydown", mark, true);
}

const ROVED = "button, .tk-pick";
const reachable = (group) => [...group.querySelectorAll(ROVED)].filter((one) => !one.disabled && !one.closest("[hidden], .tk-void"));

/** Make a group of buttons, such as a table, one Tab stop: that of the button that had the focus last. */
function keepOneStop(group) {
  const all = reachable(group);
  if (!all.includes(group.stop)) group.stop = all[0];
  for (const one of all) {
    const index = one === group.stop ? 0 : -1;
    if (one.tabIndex !== index || !one.hasAttribute("tabindex")) one.tabIndex = index;
  }
}

/** Move the focus by an arrow key within such a group: along its line, or to the same place of the next line. */
function moveFocus(event) {
  const group = event.target.closest("[data-rove]");
  const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
  if (!group || !step || event.target.matches("input")) return;
  const all = reachable(group);
  const lineOf = (one) => one.closest("tr, .tk-book-row, .tk-sub") || group;
  const lines = [...new Set(all.map(lineOf))];
  const own = all.filter((one) => lineOf(one) === lineOf(event.target));
  const across = lines.length > 1 && event.key.match(/Up|Down/);
  const [list, at] = across ? [lines, lines.indexOf(lineOf(event.target))] : [own, own.indexOf(event.target)];
  let next = list[Math.max(0, Math.min(list.length - 1, at + step))];
  if (across) {
    const there = all.filter((one) => lineOf(one) === next);
    next = there[Math.min(own.indexOf(event.target), there.length - 1)];
  }
  if (!next) return; // an update has just hidden or locked what has the focus
  event.preventDefault();
  group.stop = next;
  keepOneStop(group);
  next.focus();
}

/** Focus an element of a panel, or the panel's title where there is none. */
function focusOrTitle(element, inside) {
  const target = element || inside.closest(".tk").querySelector(".tk-title");
  if (target.tagName === "H3") target.tabIndex = -1;
  target.focus();
}

/** Draw [name, value, note] as a list of terms; `annotate(term, note)` shows the note. */
function drawTerms(list, entries, annotate) {
  const elements = fitRows(list, entries.length, () => h("div", {}, h("dt"), h("dd")));
  entries.forEach(([name, value, about], index) => {
    const [term, description] = elements[index].children;
    setText(term, name);
    setSignedText(description, value);
    annotate(term, about);
  });
}

/** Set a trait, and send it to Python. */
function setTrait(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

let panelCount = 0;
const GONE_MS = 3000;
const QUIET_MS = 2000;
const WATCH_MS = 250;
/** A press must reach the kernel within this time; until it is answered the page says so, after the second one. */
const PRESS_MS = 5000;
const ANSWER_MS = 1000;
const hearts = new Set();
/** Model → the confirmation that was sent and not answered yet. */
const unanswered = new WeakMap();
let lastDeadline = 0;
let watching = 0;

/** Follow a panel's signs of life; `draw` is called when they may have changed. A dead kernel sends nothing, so a timer looks. */
function makeHeart(model, draw) {
  const heart = { model, draw, born: performance.now(), last: 0, lastTime: null };
  const beat = () => {
    heart.last = performance.now();
    heart.lastTime = new Date();
  };
  // The state that a view is made from is a sign of life too, if it is that recent; a saved one is not.
  const age = Date.now() - ((model.get("beat") || {}).at || 0);
  if (age > -GONE_MS && age < GONE_MS) beat();
  model.on("change:beat", beat);
  hearts.add(heart);
  if (!watching) watching = setInterval(() => hearts.forEach((one) => one.draw()), WATCH_MS);
  model.send({ do: "hello" });
  heart.stop = () => {
    model.off("change:beat", beat);
    hearts.delete(heart);
    if (!hearts.size) watching = clearInterval(watching);
  };
  return heart;
}

/** Return what a panel is: [word, reason]; only "live" and "stale" let anything be pressed. */
function vitality(heart) {
  const { model, last, lastTime, born } = heart;
  const { time, busy } = model.get("beat") || {};
  const lock = model.get("lock");
  const now = performance.now();
  if (lock === "closed") return ["closed", "closed"];
  if (!last && now - born < GONE_MS) return ["connecting", ""];
  if (!last) return ["saved", `Saved view as of ${time || "an unknown time"}: no kernel answers. Run the cell for the live one.`];
  if (now - last >= GONE_MS) {
    return ["no kernel", `No kernel since ${lastTime.toLocaleTimeString("en-GB")}: what is shown is as of ${time}. Run the cell again.`];
  }
  if (busy) return ["busy", "The kernel is busy with a cell. Buttons wait until it is done."];
  if (silenceOf(heart) >= QUIET_MS) {
    const who = now - last >= QUIET_MS ? "kernel" : "venue";
    return ["quiet", `Nothing has come from the ${who} for more than ${QUIET_MS / 1000} s: prices may be out of date, and nothing can be signed.`];
  }
  return lock ? ["stale", lock] : ["live", ""];
}

/** Return for how long the page has known nothing of the venue: the age of its last message with the last sign of life, and the time since. */
function silenceOf({ model, last }) {
  return performance.now() - last + ((model.get("beat") || {}).age || 0);
}

/** Send a press with its deadline by the kernel's clock: a kernel that was stopped, and gets it later, refuses it. Return whether it was sent. */
function sendPress(model, content, until) {
  const heart = [...hearts].find((one) => one.model === model);
  const beat = model.get("beat") || {};
  const since = performance.now() - heart.last;
  // No two presses have the same deadline, and no later one an earlier: `answered` names them by it.
  const by = (lastDeadline = Math.max(Math.round(beat.at + since) + PRESS_MS, lastDeadline + 1));
  if (content.do === "confirm" || content.confirmed) {
    if (vitality(heart)[0] !== "live") return false;
    unanswered.set(model, { by, at: performance.now(), until: Number(until) || Math.round(beat.now + since) + PRESS_MS + beat.expiry });
  }
  model.send({ ...content, by });
  return true;
}

/** Return what is to say of a confirmation that was sent and not answered, "" without one. */
function pendingWords({ model, last }) {
  const { by, at, until } = unanswered.get(model) || {};
  if (!by || model.get("answered") >= by || performance.now() - at < ANSWER_MS) return "";
  if (model.get("beat").now + performance.now() - last > until) return "Sent, never answered: look at your orders before you send it again.";
  return `Sent, not answered: may still be executed until ${new Date(until).toISOString().slice(11, 19)} UTC.`;
}

/** Return the line that every panel has: the age of what it shows, the venue's time, the agent. */
function truthWords(heart) {
  const { time, agent } = heart.model.get("beat") || {};
  if (!heart.last) return "";
  const seconds = Math.floor(silenceOf(heart) / 1000);
  return [`data ${seconds ? seconds : "< 1"} s old`, `venue ${time.slice(11)}`, agent].filter(Boolean).join(" · ");
}

const DEAD = ["saved", "no kernel", "connecting", "busy", "closed"];

/** Make the header and body of a panel. `build(body, id, parts)` returns the function that draws, at most once a display frame. */
function renderPanel(model, el, title, build) {
  const id = `tk${++panelCount}-${Math.random().toString(36).slice(2, 7)}`;
  const heading = h("h3", { class: "tk-title", id: `${id}-title` });
  const note = h("span", { class: "tk-note" });
  const dot = h("span", { class: "tk-dot", "aria-hidden": "true" });
  const status = h("span", { class: "tk-status" });
  const head = h("header", { class: "tk-head" }, heading, note, h("span", { class: "tk-state" }, dot, status));
  // What follows the market is never in a live region; what a person did or must know is.
  const lockNote = h("p", { class: "tk-lock", role: "status", "aria-live": "polite", tabindex: "-1", hidden: true });
  const truth = h("p", { class: "tk-truth" });
  const pending = h("p", { class: "tk-pending", role: "status", "aria-live": "polite", hidden: true });
  const news = h("p", { class: "tk-truth tk-happened", role: "status", "aria-live": "polite", hidden: true });
  const problem = h("p", { class: "tk-problem", role: "alert", hidden: true });
  // A field set, because it disables everything in it at once, also what a panel adds later.
  const body = h("fieldset", { class: "tk-body", "aria-labelledby": `${id}-title` });
  const root = h(
    "section", { class: "tk tk-panel", "aria-labelledby": `${id}-title` }, head, truth, news, lockNote, pending, body, problem,
  );
  const draw = build(body, id, { root, heading, note, head });
  let request = 0;
  let left = null;
  let locked = "";
  const drawState = () => {
    const [now, reason] = vitality(heart);
    const waits = pendingWords(heart);
    setText(truth, truthWords(heart));
    const [when, kind, what] = ((model.get("beat") || {}).news || [])[0] || [];
    setText(news, what ? `${when} UTC ${what}` : "");
    setVisible(news, what);
    toggleClass(news, "tk-danger", ["liquidation", "adl", "paused"].includes(kind));
    const doubted = (model.get("view") || {}).doubt;
    const noted = [reason, doubted && `unknown: ${doubted}`].filter(Boolean).join(". ");
    setText(pending, waits && `⚠ ${waits}`);
    setVisible(pending, waits);
    // The kernel may be the one that is silent: what may be pressed is the page's own decision.
    const lock = model.get("lock") || waits || (now === "live" ? "" : now);
    if (lock !== locked) schedule();
    locked = lock;
    setText(status, now);
    toggleClass(root, "tk-locked", now !== "live");
    toggleClass(root, "tk-veiled", ["saved", "no kernel"].includes(now));
    setText(lockNote, noted ? `⚠ ${noted}` : "");
    setVisible(lockNote, noted);
    const dead = DEAD.includes(now);
    if (body.disabled !== dead) {
      // What is disabled loses the focus; it waits at the reason, and returns.
      if (dead && body.contains(document.activeElement)) {
        left = document.activeElement;
        if (reason) lockNote.focus();
      }
      body.disabled = dead;
      if (!dead && left && [lockNote, document.body].includes(document.activeElement)) left.focus();
      if (!dead) left = null;
    }
  };
  const drawNow = () => {
    request = 0;
    setText(heading, title(model.get("view") || {}));
    drawState();
    setText(problem, model.get("problem") ? `✖ ${model.get("problem")}` : "");
    setVisible(problem, model.get("problem"));
    const colors = model.get("colors") || {};
    for (const name of ["up", "down"]) {
      if (colors[name]) root.style.setProperty(`--tk-${name}`, colors[name]);
      else root.style.removeProperty(`--tk-${name}`);
    }
    draw(model.get("view") || {}, locked);
    root.querySelectorAll("[data-rove]").forEach(keepOneStop);
  };
  const schedule = () => {
    // Many traits change at once; they are drawn together in the next frame.
    if (!request) request = requestAnimationFrame(drawNow);
  };
  // Pressing what is off does nothing; it keeps the focus, which `disabled` would take from it.
  root.addEventListener("click", (event) => {
    const off = event.target.closest('[aria-disabled="true"]');
    const guarded = off && off.offFor && off.offFor.has("guard");
    // Only a pointer presses twice at one place; the keyboard has to move to a button that has just appeared.
    if (guarded && off.fresh && off.offFor.size === 1 && !event.detail) return;
    if (off) {
      // Every further press of a series of clicks starts the half second again.
      if (guarded) guardPress(off);
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, true);
  const heart = makeHeart(model, drawState);
  const stopKeys = keepKeys(root);
  root.addEventListener("focusin", (event) => {
    const group = event.target.closest("[data-rove]");
    if (!group || !event.target.matches(ROVED)) return;
    group.stop = event.target;
    keepOneStop(group);
  });
  model.on("change", schedule);
  el.append(root);
  drawNow();
  return () => {
    heart.stop();
    stopKeys();
    model.send({ do: "bye" });
    model.off("change", schedule);
    if (request) cancelAnimationFrame(request);
  };
}

/** Turn a button off for a reason, or on again, without taking the focus from it. */
function setOff(button, off, reason = "state") {
  button.offFor = button.offFor || new Set();
  if (off) button.offFor.add(reason);
  else button.offFor.delete(reason);
  setAttribute(button, "aria-disabled", button.offFor.size ? "true" : "false");
}

const GUARD_MS = 500;

/** Turn a button that confirms something off for half a second, so that a double click can't press it. */
function guardPress(button) {
  clearTimeout(button.guard);
  setOff(button, true, "guard");
  button.guard = setTimeout(() => setOff(button, false, "guard"), GUARD_MS);
}

/** A held key presses a button again and again; only the first counts. */
function ignoreHeldKey(button) {
  button.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
}

/** Return a table with a caption for screen readers, and its body; `draw` fills it with rows of texts. `columns`: { name, num, signed, head }. */
function makeTable(caption, columns) {
  const body = h("tbody");
  const kind = (column) => (column.num ? "tk-num" : null);
  const heads = columns.map((column) => h("th", { scope: "col", class: kind(column) }, column.name || h("span", { class: "tk-hidden" }, "Action")));
  const table = h("table", { class: "tk-table" }, h("caption", { class: "tk-hidden" }, caption), h("thead", {}, h("tr", {}, ...heads)), body);
  const make = () => h("tr", {}, ...columns.map((column) => (column.head ? h("th", { scope: "row" }) : h("td", { class: kind(column) }))));
  const draw = (rows) => {
    const made = fitRows(body, rows.length, make);
    rows.forEach((row, index) => columns.forEach((column, place) => (column.signed ? setSignedText : setText)(made[index].children[place], row[place])));
    return made;
  };
  return { table, body, draw };
}

/** Draw one row for each key; a row is kept while others change, so that its button stays armed. */
function drawKeyed(parent, list, key, make, fill) {
  const known = new Map([...parent.children].map((row) => [row.dataset.key, row]));
  const held = parent.contains(document.activeElement) ? [...parent.children].findIndex((row) => row.contains(document.activeElement)) : -1;
  // First what is gone: a row that then stands in its place already is not moved.
  const names = list.map(key);
  for (const [name, row] of known) if (!names.includes(name)) row.remove();
  list.forEach((one, index) => {
    const row = known.get(names[index]) || make(one);
    row.dataset.key = names[index];
    row.item = one;
    // Moved only if necessary: moving a row takes the focus from its button.
    if (parent.children[index] !== row) parent.insertBefore(row, parent.children[index] || null);
    fill(row.children, one, row);
  });
  // The row that had the focus is gone: the next one takes it, or the panel's heading.
  if (held >= 0 && !parent.contains(document.activeElement)) {
    const next = parent.children[Math.min(held, parent.children.length - 1)];
    focusOrTitle(next && next.querySelector("button:not([hidden])"), parent);
  }
}

const ARMED_MS = 5000;

/** Return a button that asks for confirmation: the first press arms it for a few seconds, a later one sends, a double click does not. */
function confirmButton(label, question, send) {
  let timer = 0;
  const button = smallButton(label);
  const disarm = () => {
    clearTimeout(timer);
    timer = 0;
    button.classList.remove("tk-armed");
    setText(button, label);
    button.setAttribute("aria-label", button.dataset.name || label);
  };
  ignoreHeldKey(button);
  button.addEventListener("click", () => {
    if (timer) {
      disarm();
      send();
      return;
    }
    guardPress(button);
    setText(button, question());
    button.setAttribute("aria-label", `${question()} ${button.dataset.name || ""}. Press again to confirm.`);
    button.classList.add("tk-armed");
    // Some browsers do not focus a button that is clicked; Enter must reach the confirmation, Tab must leave it.
    button.focus();
    timer = setTimeout(disarm, ARMED_MS);
  });
  button.addEventListener("blur", () => timer && disarm());
  button.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && timer) {
      event.stopPropagation();
      disarm();
    }
  });
  return button;
}
