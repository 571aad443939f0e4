// The controls of a ticket: each edits one trait.

const TIFS = [["", "default"], ["GTC", "GTC"], ["IOC", "IOC"], ["FOK", "FOK"], ["POST_ONLY", "Post only"]];
const UNITS = [["base", "units"], ["notional", "USDC"], ["share", "%"]];
const TRIGGERS = [["MARK_PRICE", "mark price"], ["LAST_PRICE", "last price"], ["INDEX_PRICE", "index price"]];
const EXITS = [["price", "price"], ["percent", "% of the entry price"], ["pnl", "PnL in USDC"]];
const TYPING_PAUSE_MS = 120;
/** For so long after an edit its problem is announced; later changes come from the market. */
const SPEAK_MS = 1000;

/** Radio buttons for a trait; real inputs, so that the keyboard and screen readers work. */
function radios(model, name, label, options, id) {
  const group = h("fieldset", { class: `tk-radios tk-${name}` }, h("legend", { class: "tk-hidden" }, label));
  const inputs = options.map(([value, text]) => {
    const input = h("input", { type: "radio", name: `${id}-${name}`, id: `${id}-${name}-${value}`, value });
    input.addEventListener("change", () => {
      model.set(name, value);
      model.save_changes();
    });
    group.append(input, h("label", { for: input.id, class: `tk-choice tk-choice-${value}` }, text));
    return input;
  });
  return { group, draw: () => inputs.forEach((input) => (input.checked = input.value === model.get(name))) };
}

/** A drop-down list for a trait. */
function select(model, name, options, id) {
  const list = h("select", { id: `${id}-${name}` }, ...options.map(([value, text]) => h("option", { value }, text)));
  list.addEventListener("change", () => {
    model.set(name, list.value);
    model.save_changes();
  });
  return {
    list,
    draw: () => {
      if (list.value !== model.get(name)) list.value = model.get(name);
    },
  };
}

/** A text field that is sent to Python shortly after the last key; a pending edit is never overwritten. */
function text(model, name, id, attributes) {
  const input = h("input", {
    type: "text", id: `${id}-${name}`, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-${name}-message`, ...attributes,
  });
  let timer = 0;
  const send = () => {
    clearTimeout(timer);
    timer = 0;
    if (model.get(name) !== input.value) {
      model.set(name, input.value);
      model.save_changes();
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(send, TYPING_PAUSE_MS);
  });
  input.addEventListener("change", send);
  // Otherwise Jupyter takes keys for its shortcuts.
  input.addEventListener("keydown", (event) => event.stopPropagation());
  return {
    name,
    input,
    send,
    draw: () => {
      if (!timer && input.value !== model.get(name)) input.value = model.get(name);
    },
  };
}
