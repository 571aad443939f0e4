/** For so long after an edit its problem is announced; later changes come from the market. */
const SPEAK_MS = 1000;

function render({ model, el }) {
  return renderPanel(model, el, (view) => `Order · ${view.symbol || ""}`, (body, id, { root, note }) => {
    root.classList.add("tk-ticket");
    let edited = "";
    const form = () => model.get("form") || {};
    const banner = h("p", { class: "tk-banner", role: "note", hidden: true });
    const quotes = h("div", { class: "tk-quotes", role: "group", "aria-label": "Quotes", "data-rove": true });
    const quoteButtons = ["bid", "ask", "mark", "last"].map((name) => {
      const value = h("strong");
      const pick = () => button.dataset.price && setTrait(model, "price", button.dataset.price);
      const button = h("button", { type: "button", class: "tk-quote", on: { click: pick } }, h("span", {}, name), value);
      quotes.append(button);
      return { name, button, value };
    });

    const side = radios(model, "side", "Side", [["BUY", "▲ Buy"], ["SELL", "▼ Sell"]], id);
    const type = radios(model, "order_type", "Order type", form().kinds || [], id);
    const unit = select(model, "quantity_as", id);
    unit.list.setAttribute("aria-label", "Unit of quantity");

    // The settings of the product. Each is reviewed and signed like an order.
    const leverage = h("input", { type: "text", inputmode: "decimal", id: `${id}-leverage`, autocomplete: "off" });
    const setLeverage = smallButton("Set", () => sendPress(model, { do: "leverage", leverage: leverage.value }));
    leverage.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        setLeverage.click();
      }
    });
    const mode = smallButton("", () => sendPress(model, { do: "marginMode", mode: model.get("view").isolated ? "CROSS" : "ISOLATED" }));
    const settings = h("div", { class: "tk-settings" }, h("label", { for: leverage.id }, "Leverage"), leverage, setLeverage, mode);
    const slid = { input: () => setText(shareText, `${share.value} %`), change: () => sendPress(model, { do: "share", percent: Number(share.value) }) };
    const share = h("input", { type: "range", min: "0", max: "100", step: "5", value: "0", id: `${id}-share`, "aria-label": "Share of what is available, in percent", on: slid });
    const shareText = h("output", { for: share.id, class: "tk-note" }, "");
    // Fields are made when a kind of order first shows them, and kept: what was typed is there when they are shown again.
    const fields = new Map();
    const messages = { other: h("div", { class: "tk-message", id: `${id}-other-message`, "aria-live": "off" }) };
    const made = (description) => {
      const { name, control } = description;
      if (!fields.has(name)) {
        const extra = control === "quantity" ? { unit, slider: h("div", { class: "tk-slider" }, share, shareText) } : null;
        const field = makeField(model, id, description, extra);
        fields.set(name, field);
        messages[name] = field.message;
        if (extra) field.input.addEventListener("input", () => setText(shareText, ""));
        if (field.send) {
          field.input.addEventListener("input", () => {
            edited = name;
            setAttribute(field.message, "aria-live", "polite");
            drawProblems(model.get("view"));
          });
        }
      }
      return fields.get(name);
    };
    const texts = () => [...fields.values()].filter((one) => one.send);
    const rows = h("div", { class: "tk-rows" });
    const moreRows = h("div", { class: "tk-rows" });
    const more = h("details", { class: "tk-more" }, h("summary", {}, "Take profit, stop loss, client id"), moreRows);
    const names = (part) => part.flat().filter(Boolean).map((one) => one.name);
    const drawRows = (parent, list) => {
      const key = JSON.stringify(list.map((row) => row.map((one) => one && one.name)));
      if (parent.dataset.key !== key) {
        const held = parent.contains(document.activeElement) ? document.activeElement : null;
        parent.replaceChildren(...list.map((row) => (row.length > 1 ? h("div", { class: "tk-two" }, ...row.map((one) => one && made(one).element)) : made(row[0]).element)));
        parent.dataset.key = key;
        // A field that only moved keeps the focus.
        if (held && held.isConnected) held.focus();
      }
      for (const one of list.flat()) if (one) made(one).draw(one);
    };
    const formElement = h("form", { class: "tk-form", novalidate: true, "aria-labelledby": `${id}-title` }, side.group, type.group, settings, rows, more, messages.other);

    const preview = h("dl", { class: "tk-pairs tk-preview" });
    const reviewButton = h("button", { type: "submit", class: "tk-go" }, "Review order");
    formElement.append(preview, reviewButton);
    const submit = () => {
      const typed = Object.fromEntries(texts().map((one) => [one.name, one.input.value]));
      texts().forEach((one) => one.send());
      sendPress(model, { do: "submit", fields: typed });
    };
    formElement.addEventListener("submit", (event) => {
      event.preventDefault();
      submit();
    });
    // Also while the button is off: the last keys may make the order valid, and Python checks all of it.
    formElement.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches('input[type="text"]') && event.target !== leverage && !event.repeat) {
        event.preventDefault();
        submit();
      }
    }, true);

    const focusForm = () => (reviewButton.getAttribute("aria-disabled") === "true" ? fields.get("quantity").input : reviewButton).focus();
    const review = reviewPart(model, id, root, focusForm, () => !tracker.hidden && (tracker.focus(), true));

    const steps = h("ol", { class: "tk-steps" });
    const [outcomeHead, outcomeRest] = [h("strong"), h("span")];
    const outcome = h("p", { class: "tk-outcome", role: "status", "aria-live": "polite" }, outcomeHead, outcomeRest);
    const summary = h("p", { class: "tk-note" });
    const children = h("ul", { class: "tk-children" });
    const ask = smallButton("Ask the venue", () => sendPress(model, { do: "ask" }));
    const cancel = smallButton("Cancel what waits here", () => sendPress(model, { do: "cancel" }));
    const tracker = h("div", { class: "tk-tracker", tabindex: "-1", role: "group", "aria-label": "Last order", hidden: true }, summary, steps, outcome, children, ask, cancel);
    body.append(banner, quotes, formElement, review.element, tracker);

    const drawProblems = (view) => {
      // A problem of an earlier text is not shown for a later one. Otherwise Tab would lead to its buttons, not to the next field.
      const outdated = texts().filter((one) => (view.typed || {})[one.name] !== one.input.value).map((one) => one.name);
      const list = (view.problems || []).filter((one) => !outdated.includes(one.field));
      const shown = names([...(form().rows || []), ...(form().more || [])]);
      for (const [name, message] of Object.entries(messages)) {
        const own = list.filter((one) => (name === "other" ? !shown.includes(one.field) : one.field === name));
        const inside = message.contains(document.activeElement);
        // In place: a line that was replaced between press and release would lose the click.
        const lines = fitRows(message, own.length, problemLine);
        own.forEach((one, index) => drawProblem(lines[index], one));
        const field = fields.get(name);
        const input = field && field.element.querySelector("input, select");
        const wrong = own.some((one) => !one.missing);
        if (input) setAttribute(input, "aria-invalid", String(wrong));
        if (field) toggleClass(field.element, "tk-wrong", wrong);
        if (inside && input && !message.contains(document.activeElement)) input.focus();
        if (edited === name && !outdated.includes(name)) {
          setTimeout(() => setAttribute(message, "aria-live", "off"), SPEAK_MS);
          edited = "";
        }
      }
      if (list.some((one) => names(form().more || []).includes(one.field))) more.open = true;
    };
    const problemLine = () => h("div", {}, h("span"));
    const chip = (line) => {
      const take = ({ currentTarget: button }) => {
        const { field, rule } = line.problem;
        sendPress(model, { do: "take", field, rule, label: button.textContent, place: [...line.children].indexOf(button) - 1 });
      };
      return smallButton("", take, { class: "tk-chip" });
    };
    const drawProblem = (line, one) => {
      line.problem = one;
      line.className = one.missing ? "tk-hint" : "tk-wrong-line";
      setText(line.firstChild, `${one.missing ? "" : "✖ "}${one.message}`);
      const buttons = fitRows(line, one.choices.length + 1, () => chip(line));
      one.choices.forEach((label, index) => {
        setText(buttons[index + 1], label);
        setAttribute(buttons[index + 1], "aria-label", `Use ${label} for ${one.field.replace("_", " ")}`);
      });
    };

    return (view, lock) => {
      side.draw();
      type.draw();
      drawRows(rows, form().rows || []);
      drawRows(moreRows, form().more || []);
      setVisible(more, (form().more || []).length);
      const buys = model.get("side") === "BUY";
      toggleClass(root, "tk-buys", buys);
      toggleClass(root, "tk-sells", !buys);
      toggleClass(root, "tk-real", view.mainnet);
      setText(note, `${view.environment || ""} · ${view.account || ""}`);
      setText(banner, view.mainnet ? "⚠ MAINNET: real money" : view.readOnly || "");
      setVisible(banner, view.mainnet || view.readOnly);
      for (const one of quoteButtons) {
        const value = (view.market || {})[one.name] || "–";
        setText(one.value, value);
        one.button.dataset.price = value === "–" ? "" : value.replaceAll(",", "");
        one.button.disabled = !form().picksPrice || value === "–";
        one.button.setAttribute("aria-label", `${one.name} ${value}${form().picksPrice ? ", use as price" : ""}`);
      }
      setAttribute(leverage, "placeholder", view.leverage ? `${view.leverage}x` : "unknown");
      const held = view.isolated === null ? "unknown" : view.isolated ? "isolated" : "cross";
      setText(mode, view.isolated === null ? "margin mode unknown" : held);
      setAttribute(mode, "aria-label", `Margin mode ${held}, change to ${view.isolated ? "cross" : "isolated"}`);
      drawProblems(view);

      const sending = model.get("phase") === "sending";
      const stopped = Boolean(lock) || Boolean(view.readOnly);
      drawPairs(preview, view.preview || []);
      setVisible(formElement, !(model.get("phase") === "review" && view.review));
      setText(reviewButton, sending ? "Sending…" : `Review ${buys ? "buy" : "sell"} order`);
      setOff(reviewButton, stopped || sending || !view.valid);
      const last = view.following;
      setVisible(tracker, last);
      if (last) {
        setText(summary, last.summary);
        const elements = fitRows(steps, last.steps.length, () => h("li"));
        last.steps.forEach(([name, kind], index) => {
          setText(elements[index], `${{ done: "✓ ", bad: "✖ ", now: "● ", later: "○ " }[kind]}${name}`);
          elements[index].className = `tk-step tk-step-${kind}`;
        });
        const [head, ...rest] = last.words.split(": ");
        setText(outcomeHead, head + (rest.length ? ": " : ""));
        setText(outcomeRest, rest.join(": "));
        const lines = fitRows(children, last.children.length, () => h("li"));
        last.children.forEach((words, index) => setText(lines[index], words));
        setVisible(ask, last.status === "UNKNOWN");
        setVisible(cancel, last.cancels);
        toggleClass(tracker, "tk-warn", ["UNKNOWN", "REJECTED", "NOT_SENT"].includes(last.status));
      }
      review.draw(view, stopped);
    };
  });
}
export default { render };
