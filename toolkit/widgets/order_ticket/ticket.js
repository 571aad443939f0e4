function render({ model, el }) {
  return renderPanel(model, el, (view) => `Order · ${view.symbol || ""}`, (body, id, { root, note }) => {
    root.classList.add("tk-ticket");
    const draws = [];
    let edited = "";
    const register = (control, name) => {
      draws.push(control.draw);
      if (control.input) {
        control.input.addEventListener("input", () => {
          edited = name;
          if (messages[name]) setAttribute(messages[name], "aria-live", "polite");
          drawProblems(model.get("view"));
        });
      }
      return control;
    };
    const message = (name) => h("div", { class: "tk-message", id: `${id}-${name}-message`, "aria-live": "off" });
    const messages = {};
    const field = (name, label, control, extra) => {
      messages[name] = message(name);
      return h("div", { class: `tk-field tk-field-${name}` }, h("label", { for: `${id}-${name}` }, label), h("div", { class: "tk-control" }, control, extra || null), messages[name]);
    };

    const banner = h("p", { class: "tk-banner", role: "note", hidden: true });
    const quotes = h("div", { class: "tk-quotes" });
    const quoteButtons = ["bid", "ask", "mark", "last"].map((name) => {
      const value = h("strong");
      const button = h("button", { type: "button", class: "tk-quote" }, h("span", {}, name), value);
      button.addEventListener("click", () => {
        if (button.dataset.price && model.get("order_type") !== "MARKET") {
          model.set("price", button.dataset.price);
          model.save_changes();
        }
      });
      quotes.append(button);
      return { name, button, value };
    });

    const side = register(radios(model, "side", "Side", [["BUY", "▲ Buy"], ["SELL", "▼ Sell"]], id));
    const type = register(radios(model, "order_type", "Order type", [["LIMIT", "Limit"], ["MARKET", "Market"], ["STOP", "Stop"], ["SCALE", "Scale"], ["TWAP", "TWAP"]], id));
    const price = register(text(model, "price", id, { inputmode: "decimal", placeholder: "price" }), "price");
    const quantity = register(text(model, "quantity", id, { inputmode: "decimal", placeholder: "quantity" }), "quantity");
    const unit = register(select(model, "quantity_as", UNITS, id));
    unit.list.setAttribute("aria-label", "Unit of quantity");
    const tif = register(select(model, "tif", TIFS, id));
    const reduce = h("input", { type: "checkbox", id: `${id}-reduce_only` });
    reduce.addEventListener("change", () => {
      model.set("reduce_only", reduce.checked);
      model.save_changes();
    });
    draws.push(() => (reduce.checked = model.get("reduce_only")));
    const takeProfit = register(text(model, "take_profit", id, { inputmode: "decimal", placeholder: "none" }), "take_profit");
    const stopLoss = register(text(model, "stop_loss", id, { inputmode: "decimal", placeholder: "none" }), "stop_loss");
    const trigger = register(select(model, "trigger_by", TRIGGERS, id));
    const slippage = register(text(model, "slippage", id, { inputmode: "decimal", placeholder: "0.03" }), "slippage");
    const clientId = register(text(model, "client_id", id, { inputmode: "numeric", placeholder: "automatic" }), "client_id");
    const lastPrice = register(text(model, "last_price", id, { inputmode: "decimal", placeholder: "last price" }), "last_price");
    const count = register(text(model, "count", id, { inputmode: "numeric" }), "count");
    const duration = register(text(model, "duration", id, { placeholder: "30m" }), "duration");
    const triggerPrice = register(text(model, "trigger_price", id, { inputmode: "decimal", placeholder: "trigger price" }), "trigger_price");
    const exitAs = register(select(model, "exit_as", EXITS, id));
    const texts = [price, quantity, takeProfit, stopLoss, slippage, clientId, lastPrice, count, duration, triggerPrice];

    // The settings of the product beside the size: each is reviewed and signed like an order.
    const leverage = h("input", { type: "text", inputmode: "decimal", id: `${id}-leverage`, autocomplete: "off" });
    const setLeverage = h("button", { type: "button", class: "tk-small" }, "Set");
    setLeverage.addEventListener("click", () => model.send({ do: "leverage", leverage: leverage.value }));
    leverage.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") {
        event.preventDefault();
        setLeverage.click();
      }
    });
    const mode = h("button", { type: "button", class: "tk-small" });
    mode.addEventListener("click", () => model.send({ do: "marginMode", mode: model.get("view").isolated ? "CROSS" : "ISOLATED" }));
    const settings = h("div", { class: "tk-settings" }, h("label", { for: leverage.id }, "Leverage"), leverage, setLeverage, mode);
    const share = h("input", { type: "range", min: "0", max: "100", step: "5", value: "0", id: `${id}-share`, "aria-label": "Share of what is available, in percent" });
    const shareText = h("output", { for: share.id, class: "tk-note" }, "");
    share.addEventListener("input", () => setText(shareText, `${share.value} %`));
    share.addEventListener("change", () => model.send({ do: "share", percent: Number(share.value) }));
    quantity.input.addEventListener("input", () => setText(shareText, ""));

    const priceField = field("price", "Price (USDC)", price.input);
    const priceLabel = priceField.querySelector("label");
    const quantityField = field("quantity", "Quantity", quantity.input, unit.list);
    quantityField.append(h("div", { class: "tk-slider" }, share, shareText));
    const lastField = field("last_price", "Last price", lastPrice.input);
    const durationField = field("duration", "Over (30m, 4h, …)", duration.input);
    const severalField = h("div", { class: "tk-two" }, lastField, durationField, field("count", "Orders", count.input));
    const stopField = h("div", { class: "tk-two" }, field("trigger_price", "Trigger at (USDC)", triggerPrice.input));
    const triggerField = field("trigger_by", "Trigger by", trigger.list);
    const slippageField = field("slippage", "Slippage (ratio)", slippage.input);
    const tifField = field("tif", "Time in force", tif.list);
    messages.reduce_only = message("reduce_only");
    const reduceField = h("div", { class: "tk-field tk-check" }, reduce, h("label", { for: `${id}-reduce_only` }, "Reduce only"), messages.reduce_only);
    const extra = h(
      "details", { class: "tk-more" }, h("summary", {}, "Take profit, stop loss, client id"),
      h("div", { class: "tk-two" }, field("take_profit", "Take profit at", takeProfit.input), field("stop_loss", "Stop loss at", stopLoss.input)),
      h("div", { class: "tk-two" }, field("exit_as", "Take profit and stop loss as", exitAs.list), field("client_id", "Client id", clientId.input)),
    );
    messages.other = message("other");
    const form = h(
      "form", { class: "tk-form", novalidate: true, "aria-label": "Order" }, side.group, type.group, settings, stopField, priceField, severalField, quantityField,
      slippageField, h("div", { class: "tk-two" }, tifField, reduceField), extra, messages.other,
    );

    const preview = h("dl", { class: "tk-pairs tk-preview" });
    const reviewButton = h("button", { type: "submit", class: "tk-go" }, "Review order");
    form.append(preview, reviewButton);
    const submit = () => {
      const fields = Object.fromEntries(texts.map((one) => [one.name, one.input.value]));
      texts.forEach((one) => one.send());
      model.send({ do: "submit", fields });
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      submit();
    });
    // Also while the button is off: the last keys may make the order valid, and Python checks all of it.
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches('input[type="text"]') && !event.repeat) {
        event.preventDefault();
        submit();
      }
    }, true);

    const focusForm = () => (reviewButton.getAttribute("aria-disabled") === "true" ? quantity.input : reviewButton).focus();
    const review = reviewPart(model, id, root, focusForm, () => !tracker.hidden && (tracker.focus(), true));

    const steps = h("ol", { class: "tk-steps" });
    const [outcomeHead, outcomeRest] = [h("strong"), h("span")];
    const outcome = h("p", { class: "tk-outcome", role: "status", "aria-live": "polite" }, outcomeHead, outcomeRest);
    const summary = h("p", { class: "tk-note" });
    const children = h("ul", { class: "tk-children" });
    const ask = h("button", { type: "button", class: "tk-small" }, "Ask the venue");
    ask.addEventListener("click", () => model.send({ do: "ask" }));
    const tracker = h("div", { class: "tk-tracker", tabindex: "-1", role: "group", "aria-label": "Last order", hidden: true }, summary, steps, outcome, children, ask);
    body.append(banner, quotes, form, review.element, tracker);

    const drawProblems = (view) => {
      // What was found out about an earlier text is not shown beside a later one, so that Tab leads to the next field.
      const outdated = texts.filter((one) => (view.typed || {})[one.name] !== one.input.value).map((one) => one.name);
      const list = (view.problems || []).filter((one) => !outdated.includes(one.field));
      const all = { last_price: lastField, duration: durationField, count: severalField.lastChild, trigger_price: stopField.firstChild, price: priceField, quantity: quantityField, slippage: slippageField };
      for (const [name, message] of Object.entries(messages)) {
        const own = list.filter((one) => (name === "other" ? !(one.field in messages) : one.field === name));
        const inside = message.contains(document.activeElement);
        // In place: a line that was replaced between press and release would lose the click.
        const lines = fitRows(message, own.length, problemLine);
        own.forEach((one, index) => drawProblem(lines[index], one));
        const input = root.querySelector(`#${id}-${name}`);
        const wrong = own.filter((one) => !one.missing);
        if (input) input.setAttribute("aria-invalid", String(wrong.length > 0));
        if (inside && input && !message.contains(document.activeElement)) input.focus();
        if (edited === name && !outdated.includes(name)) {
          setTimeout(() => setAttribute(message, "aria-live", "off"), SPEAK_MS);
          edited = "";
        }
      }
      for (const [name, part] of Object.entries(all)) toggleClass(part, "tk-wrong", list.some((one) => one.field === name && !one.missing));
      if (list.some((one) => ["take_profit", "stop_loss", "client_id", "exit_as"].includes(one.field))) extra.open = true;
    };
    const problemLine = () => h("div", {}, h("span"));
    const chip = (line) => {
      const button = h("button", { type: "button", class: "tk-chip" });
      button.addEventListener("click", () => {
        const { field, rule } = line.problem;
        model.send({ do: "take", field, rule, label: button.textContent, place: [...line.children].indexOf(button) - 1 });
      });
      return button;
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
      draws.forEach((draw) => draw());
      const buys = model.get("side") === "BUY";
      const kind = model.get("order_type");
      const market = kind === "MARKET";
      toggleClass(root, "tk-buys", buys);
      toggleClass(root, "tk-sells", !buys);
      toggleClass(root, "tk-real", view.mainnet);
      setText(note, `${view.account || ""} · ${view.environment || ""}`);
      setText(banner, view.mainnet ? "⚠ MAINNET: real money" : view.readOnly || "");
      setVisible(banner, view.mainnet || view.readOnly);
      for (const one of quoteButtons) {
        const value = (view.market || {})[one.name] || "–";
        setText(one.value, value);
        one.button.dataset.price = value === "–" ? "" : value.replaceAll(",", "");
        one.button.disabled = market || value === "–";
        one.button.setAttribute("aria-label", `${one.name} ${value}${market ? "" : ", use as price"}`);
      }
      setVisible(priceField, !market);
      const [stops, scale, twap] = ["STOP", "SCALE", "TWAP"].map((one) => kind === one);
      const optional = stops || twap;
      setVisible(slippageField, market || (optional && !model.get("price")));
      setVisible(severalField, scale || twap);
      setVisible(lastField, scale);
      setVisible(durationField, twap);
      setVisible(stopField, stops);
      setVisible(extra, kind === "LIMIT" || market || ["take_profit", "stop_loss"].some((name) => model.get(name)));
      // By which price a trigger counts belongs to the trigger: of a stop, or of take-profit and stop-loss.
      const home = stops ? stopField : extra.lastChild;
      if (triggerField.parentNode !== home) home.append(triggerField);
      setVisible(tifField, !twap);
      setVisible(reduceField, !stops);
      setText(priceLabel, scale ? "First price (USDC)" : optional ? "Limit price (USDC)" : "Price (USDC)");
      setAttribute(price.input, "placeholder", optional ? "none: at market" : "price");
      setAttribute(quantity.input, "placeholder", stops ? "whole position" : "quantity");
      setAttribute(count.input, "placeholder", twap ? "2 to 500" : "2 to 20");
      setAttribute(leverage, "placeholder", `${view.leverage || "–"}x`);
      setText(mode, view.isolated ? "isolated" : "cross");
      setAttribute(mode, "aria-label", `Margin mode ${view.isolated ? "isolated, change to cross" : "cross, change to isolated"}`);
      tif.list.options[0].textContent = market || (optional && !model.get("price")) ? "IOC (default)" : "GTC (default)";
      const limits = view.limits || {};
      quantity.input.setAttribute("aria-label", `Quantity, in ${{ base: view.base, notional: "USDC", share: "percent of available margin" }[model.get("quantity_as")]}`);
      unit.list.options[0].textContent = view.base || "units";
      price.input.title = `tick size ${limits.tick}`;
      quantity.input.title = `step size ${limits.step}, at least ${limits.minValue} USDC, at most ${limits.maxQuantity}`;
      slippage.input.placeholder = `0.03 (at most ${limits.maxSlippage})`;
      drawProblems(view);

      const sending = model.get("phase") === "sending";
      const stopped = Boolean(lock) || Boolean(view.readOnly);
      drawPairs(preview, view.preview || []);
      const reviewing = model.get("phase") === "review" && view.review;
      setVisible(form, !reviewing);
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
        toggleClass(tracker, "tk-warn", ["UNKNOWN", "REJECTED", "NOT_SENT"].includes(last.status));
      }
      review.draw(view, stopped);
    };
  });
}
export default { render };
