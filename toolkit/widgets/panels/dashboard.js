/** The model of one panel within that of the dashboard: its traits have the panel's name before theirs. */
function partOf(model, part) {
  const calls = new Map();
  const full = (name) => `${part}__${name}`;
  const events = (name) => (name === "change" ? ["change"] : [`change:${full(name.slice("change:".length))}`]);
  return {
    get: (name) => model.get(full(name)),
    set: (name, value) => model.set(full(name), value),
    save_changes: () => model.save_changes(),
    send: (content) => model.send({ part, content }),
    on: (name, call) => {
      calls.set(call, () => call());
      events(name).forEach((one) => model.on(one, calls.get(call)));
    },
    off: (name, call) => events(name).forEach((one) => model.off(one, calls.get(call))),
  };
}

function render({ model, el }) {
  const renders = { header, candles, order_book, ticket, blotter, account, trades };
  const grid = h("div", { class: "tk-grid" });
  el.append(h("div", { class: "tk-dashboard" }, grid));
  let ends = [];
  const stop = () => ends.splice(0).forEach((end) => end());
  const draw = () => {
    stop();
    grid.replaceChildren();
    ends = model.get("parts").map((part) => {
      const cell = h("div", { class: `tk-cell tk-cell-${part}` });
      grid.append(cell);
      return renders[part]({ model: partOf(model, part), el: cell });
    });
  };
  model.on("change:made", draw);
  draw();
  return () => {
    model.off("change:made", draw);
    stop();
  };
}
export default { render };
