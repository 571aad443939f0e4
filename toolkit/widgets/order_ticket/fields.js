// The controls of a ticket: each edits one trait, as the form that Python describes says.

const TYPING_PAUSE_MS = 120;

/** Radio buttons for a trait; real inputs, so that the keyboard and screen readers work. */
function radios(model, name, label, options, id) {
  const group = h("fieldset", { class: `tk-radios tk-${name}` }, h("legend", { class: "tk-hidden" }, label));
  const inputs = options.map(([value, text]) => {
    const input = h("input", { type: "radio", name: `${id}-${name}`, id: `${id}-${name}-${value}`, value, on: { change: () => setTrait(model, name, value) } });
    group.append(input, h("label", { for: input.id, class: `tk-choice tk-choice-${value}` }, text));
    return input;
  });
  return { group, draw: () => inputs.forEach((input) => (input.checked = input.value === model.get(name))) };
}

/** A drop-down list for a trait; `draw` takes its options as [value, text]. */
function select(model, name, id) {
  const list = h("select", { id: `${id}-${name}`, on: { change: () => setTrait(model, name, list.value) } });
  return {
    list,
    draw: (options) => {
      fitRows(list, options.length, () => h("option"));
      options.forEach(([value, text], index) => {
        setText(list.options[index], text);
        list.options[index].value = value;
      });
      if (list.value !== model.get(name)) list.value = model.get(name);
    },
  };
}

/** A text field that is sent to Python shortly after the last key; a pending edit is never overwritten. */
function text(model, name, id) {
  const input = h("input", { type: "text", id: `${id}-${name}`, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-${name}-message` });
  let timer = 0;
  const send = () => {
    clearTimeout(timer);
    timer = 0;
    if (model.get(name) !== input.value) setTrait(model, name, input.value);
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(send, TYPING_PAUSE_MS);
  });
  input.addEventListener("change", send);
  return {
    input,
    send,
    draw: () => {
      if (!timer && input.value !== model.get(name)) input.value = model.get(name);
    },
  };
}

/** A check box for a trait. */
function check(model, name, id) {
  const input = h("input", { type: "checkbox", id: `${id}-${name}`, on: { change: () => setTrait(model, name, input.checked) } });
  return { input, draw: () => (input.checked = model.get(name)) };
}

/** A field with label, control and message; `draw` takes its description. `extra` are elements of a quantity: its unit, its slider. */
function makeField(model, id, { name, control }, extra) {
  const message = h("div", { class: "tk-message", id: `${id}-${name}-message`, "aria-live": "off" });
  const label = h("label", { for: `${id}-${name}` });
  const made = control === "select" ? select(model, name, id) : control === "check" ? check(model, name, id) : text(model, name, id);
  const shown = made.list || made.input;
  const element = control === "check"
    ? h("div", { class: "tk-field tk-check" }, shown, label, message)
    : h("div", { class: `tk-field tk-field-${name}` }, label, h("div", { class: "tk-control" }, shown, extra && extra.unit.list), message, extra && extra.slider);
  return {
    name,
    element,
    message,
    input: made.input,
    /** Only a text is typed, and sent as it is when the order is submitted. */
    send: made.send,
    draw: (field) => {
      made.draw(field.options);
      if (extra) extra.unit.draw(field.options);
      setText(label, field.label);
      for (const [attribute, value] of [["placeholder", field.placeholder], ["title", field.title], ["aria-label", field.spoken], ["inputmode", made.send && field.keyboard]]) {
        if (value) setAttribute(shown, attribute, value);
      }
    },
  };
}
