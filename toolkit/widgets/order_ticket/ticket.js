const TIFS = [["", "default"], ["GTC", "GTC"], ["IOC", "IOC"], ["FOK", "FOK"], ["POST_ONLY", "Post only"]];
const UNITS = [["base", "units"], ["notional", "USDC"], ["share", "%"]];
const TRIGGERS = [["MARK_PRICE", "mark price"], ["LAST_PRICE", "last price"], ["INDEX_PRICE", "index price"]];
const TYPING_PAUSE_MS = 120;

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
    input,
    send,
    draw: () => {
      if (!timer && input.value !== model.get(name)) input.value = model.get(name);
    },
  };
}

function render({ model, el }) {
  return renderPanel(model, el, (view) => `Order · ${view.symbol || ""}`, (body, id, { root, note }) => {
    const draws = [];
    const register = (control, name) => {
      draws.push(control.draw);
      // The first key clears the buttons of an outdated problem, so that Tab leads to the next field.
      if (control.input) control.input.addEventListener("input", () => messages[name] && (messages[name].replaceChildren(), (messages[name].dataset.key = "")));
      return control;
    };
    const message = (name) => h("div", { class: "tk-message", id: `${id}-${name}-message`, role: "status", "aria-live": "polite" });
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
        if (button.dataset.price && model.get("order_type") === "LIMIT") {
          model.set("price", button.dataset.price);
          model.save_changes();
        }
      });
      quotes.append(button);
      return { name, button, value };
    });

    const side = register(radios(model, "side", "Side", [["BUY", "▲ Buy"], ["SELL", "▼ Sell"]], id));
    const type = register(radios(model, "order_type", "Order type", [["LIMIT", "Limit"], ["MARKET", "Market"]], id));
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
    const texts = [price, quantity, takeProfit, stopLoss, slippage, clientId];

    const priceField = field("price", "Price (USDC)", price.input);
    const quantityField = field("quantity", "Quantity", quantity.input, unit.list);
    const slippageField = field("slippage", "Slippage (ratio)", slippage.input);
    messages.reduce_only = message("reduce_only");
    const reduceField = h("div", { class: "tk-field tk-check" }, reduce, h("label", { for: `${id}-reduce_only` }, "Reduce only"), messages.reduce_only);
    const extra = h(
      "details", { class: "tk-more" }, h("summary", {}, "Take profit, stop loss, client id"),
      h("div", { class: "tk-two" }, field("take_profit", "Take profit at", takeProfit.input), field("stop_loss", "Stop loss at", stopLoss.input)),
      h("div", { class: "tk-two" }, field("trigger_by", "Trigger by", trigger.list), field("client_id", "Client id", clientId.input)),
    );
    messages.other = message("other");
    const form = h(
      "form", { class: "tk-form", novalidate: true, "aria-label": "Order" }, side.group, type.group, priceField, quantityField,
      slippageField, h("div", { class: "tk-two" }, field("tif", "Time in force", tif.list), reduceField), extra, messages.other,
    );

    const preview = h("dl", { class: "tk-pairs tk-preview" });
    const reviewButton = h("button", { type: "submit", class: "tk-go" }, "Review order");
    form.append(preview, reviewButton);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      texts.forEach((one) => one.send());
      model.send({ do: "submit" });
    });

    // Nothing is signed before the button of the review is pressed.
    const question = h("p", { class: "tk-question", id: `${id}-question`, tabindex: "-1" });
    const details = {};
    const detail = (name, label, block) => {
      details[name] = h(block ? "pre" : "code", block ? { tabindex: "0", "aria-label": label } : {});
      return h("div", { class: "tk-detail" }, h("span", {}, label), details[name]);
    };
    const signing = h(
      "details", { class: "tk-more" }, h("summary", {}, "What will be signed"),
      detail("signer", "Signer (agent)"), detail("digest", "Digest"), detail("connectionId", "connectionId"), detail("nonce", "Nonce"),
      detail("action", "Action", true), detail("typedData", "Typed data", true), detail("proto", "Protobuf bytes", true),
    );
    const typed = h("input", { type: "text", id: `${id}-typed`, autocomplete: "off", spellcheck: "false" });
    typed.addEventListener("keydown", (event) => event.stopPropagation());
    const typedLabel = h("label", { for: `${id}-typed` });
    const typedField = h("div", { class: "tk-field" }, typedLabel, typed);
    const sign = h("button", { type: "button", class: "tk-go tk-sign" }, "Sign and send");
    const back = h("button", { type: "button", class: "tk-plain" }, "Back");
    const reviewPreview = h("dl", { class: "tk-pairs tk-preview" });
    const review = h("div", { class: "tk-review", role: "group", "aria-labelledby": `${id}-question`, hidden: true }, question, reviewPreview, signing, typedField, h("div", { class: "tk-buttons" }, back, sign));
    let token = 0;
    const matches = () => !model.get("view").mainnet || typed.value === model.get("view").symbol;
    typed.addEventListener("input", () => (sign.disabled = !matches()));
    sign.addEventListener("click", () => {
      sign.disabled = true;
      model.send({ do: "confirm", token, typed: typed.value });
    });
    back.addEventListener("click", () => model.send({ do: "back" }));
    review.addEventListener("keydown", (event) => event.key === "Escape" && model.send({ do: "back" }));

    const steps = h("ol", { class: "tk-steps" });
    const [outcomeHead, outcomeRest] = [h("strong"), h("span")];
    const outcome = h("p", { class: "tk-outcome", role: "status", "aria-live": "polite" }, outcomeHead, outcomeRest);
    const summary = h("p", { class: "tk-note" });
    const children = h("ul", { class: "tk-children" });
    const ask = h("button", { type: "button", class: "tk-small" }, "Ask the venue");
    ask.addEventListener("click", () => model.send({ do: "ask" }));
    const tracker = h("div", { class: "tk-tracker", hidden: true }, summary, steps, outcome, children, ask);
    body.append(banner, quotes, form, review, tracker);

    const drawPairs = (list, entries) => {
      const elements = fitRows(list, entries.length, () => h("div", {}, h("dt"), h("dd")));
      entries.forEach(([name, value, about], index) => {
        const [term, description] = elements[index].children;
        setText(term, name);
        setSignedText(description, value);
        description.title = about;
        description.dataset.about = about;
      });
    };
    const drawProblems = (view) => {
      const list = view.problems || [];
      const all = { price: priceField, quantity: quantityField, slippage: slippageField };
      for (const [name, message] of Object.entries(messages)) {
        const own = list.filter((one) => (name === "other" ? !(one.field in messages) : one.field === name));
        const key = JSON.stringify(own);
        // Unchanged messages are left alone: replacing them would take the focus from a button that is in use.
        if (message.dataset.key === key) continue;
        const inside = message.contains(document.activeElement);
        message.dataset.key = key;
        message.replaceChildren(...own.map((one) => problemLine(one)));
        const input = root.querySelector(`#${id}-${name}`);
        if (input) input.setAttribute("aria-invalid", String(own.some((one) => !one.missing)));
        if (inside && input) input.focus();
      }
      for (const [name, part] of Object.entries(all)) toggleClass(part, "tk-wrong", list.some((one) => one.field === name && !one.missing));
      if (list.some((one) => ["take_profit", "stop_loss", "client_id", "trigger_by"].includes(one.field))) extra.open = true;
    };
    const problemLine = (one) => {
      const line = h("div", { class: one.missing ? "tk-hint" : "tk-wrong-line" });
      line.append(h("span", {}, `${one.missing ? "" : "✖ "}${one.message}`));
      for (const label of one.choices) {
        const button = h("button", { type: "button", class: "tk-chip", "aria-label": `Use ${label} for ${one.field.replace("_", " ")}` }, label);
        button.addEventListener("click", () => model.send({ do: "take", field: one.field, label }));
        line.append(button);
      }
      return line;
    };

    return (view, lock) => {
      draws.forEach((draw) => draw());
      const buys = model.get("side") === "BUY";
      const market = model.get("order_type") === "MARKET";
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
      setVisible(slippageField, market);
      tif.list.options[0].textContent = market ? "IOC (default)" : "GTC (default)";
      const limits = view.limits || {};
      quantity.input.setAttribute("aria-label", `Quantity, in ${{ base: view.base, notional: "USDC", share: "percent of available margin" }[model.get("quantity_as")]}`);
      unit.list.options[0].textContent = view.base || "units";
      price.input.title = `tick size ${limits.tick}`;
      quantity.input.title = `step size ${limits.step}, at least ${limits.minValue} USDC, at most ${limits.maxQuantity}`;
      slippage.input.placeholder = `0.03 (at most ${limits.maxSlippage})`;
      drawProblems(view);

      const reviewing = model.get("phase") === "review" && view.review;
      const sending = model.get("phase") === "sending";
      const stopped = Boolean(lock) || Boolean(view.readOnly);
      drawPairs(preview, view.preview || []);
      setVisible(form, !reviewing);
      setText(reviewButton, sending ? "Sending…" : `Review ${buys ? "buy" : "sell"} order`);
      reviewButton.disabled = stopped || sending || !view.valid;
      // A new review starts with an empty confirmation, also when it follows another one directly.
      if (reviewing && token !== view.review.token) {
        token = view.review.token;
        typed.value = "";
        signing.open = false;
        const inside = root.contains(document.activeElement);
        setVisible(review, true);
        if (inside) question.focus();
      }
      setVisible(review, reviewing);
      if (reviewing) {
        setText(question, view.order);
        drawPairs(reviewPreview, view.preview || []);
        for (const [name, element] of Object.entries(details)) setText(element, view.review[name]);
        setVisible(typedField, view.mainnet);
        setText(typedLabel, `Real money. Type ${view.symbol} to confirm`);
        setText(sign, `Sign and ${buys ? "buy" : "sell"}`);
        sign.disabled = stopped || !matches();
      }
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
    };
  });
}
export default { render };
