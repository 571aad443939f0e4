function render({ model, el }) {
  return renderPanel(model, el, (view) => view.symbol || "", (body, id, { note, root }) => {
    root.classList.add("tk-header");
    const list = h("select", { id: `${id}-symbol`, "aria-label": "Product", on: { change: () => sendPress(model, { do: "symbol", symbol: list.value }) } });
    const pairs = h("dl", { class: "tk-ticker" });
    body.append(list, pairs);
    return (view) => {
      setText(note, view.note);
      colourBy(note, view.change);
      const symbols = view.symbols || [];
      fitRows(list, symbols.length, () => h("option"));
      symbols.forEach((symbol, index) => setText(list.options[index], symbol));
      if (document.activeElement !== list) list.value = view.symbol;
      setVisible(list, symbols.length > 1);
      drawTerms(pairs, view.rows || [], () => {});
    };
  });
}
export default { render };
