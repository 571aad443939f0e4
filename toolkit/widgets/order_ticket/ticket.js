const TIFS = [["", "usual"], ["GTC", "GTC"], ["IOC", "IOC"], ["FOK", "FOK"], ["POST_ONLY", "Post only"]];
const UNITS = [["base", "units"], ["notional", "USDC"], ["share", "%"]];
const TRIGGERS = [["MARK_PRICE", "mark price"], ["LAST_PRICE", "last price"], ["INDEX_PRICE", "index price"]];
const QUIET_MS = 120;

/** A choice of a few, as real radio buttons. */
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

function select(model, name, options, id) {
  const made = h("select", { id: `${id}-${name}` }, ...options.map(([value, text]) => h("option", { value }, text)));
  made.addEventListener("change", () => {
    model.set(name, made.value);
    model.save_changes();
  });
  return {
    made,
    draw: () => {
      if (made.value !== model.get(name)) made.value = model.get(name);
    },
  };
}

/** A text field that tells Python a moment after the last key, and never loses what is being typed. */
function text(model, name, id, attributes) {
  const input = h("input", {
    type: "text", id: `${id}-${name}`, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-${name}-told`, ...attributes,
  });
  let timer = 0;
  const tell = () => {
    clearTimeout(timer);
    timer = 0;
    if (model.get(name) !== input.value) {
      model.set(name, input.value);
      model.save_changes();
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(tell, QUIET_MS);
  });
  input.addEventListener("change", tell);
  input.addEventListener("keydown", (event) => event.stopPropagation());
  return {
    input,
    tell,
    draw: () => {
      if (!timer && input.value !== model.get(name)) input.value = model.get(name);
    },
  };
}

function render({ model, el }) {
  return panel(model, el, (view) => `Order · ${view.symbol || ""}`, (body, id, { root, note }) => {
    const drawn = [];
    const keep = (part, name) => {
      drawn.push(part.draw);
      // Advice about what stood there is gone with the first key, so that Tab leads to the next field.
      if (part.input) part.input.addEventListener("input", () => spots[name] && (spots[name].replaceChildren(), (spots[name].dataset.key = "")));
      return part;
    };
    const told = (name) => h("div", { class: "tk-told-field", id: `${id}-${name}-told`, role: "status", "aria-live": "polite" });
    const spots = {};
    const field = (name, label, control, extra) => {
      spots[name] = told(name);
      return h("div", { class: `tk-field tk-field-${name}` }, h("label", { for: `${id}-${name}` }, label), h("div", { class: "tk-control" }, control, extra || null), spots[name]);
    };

    const banner = h("p", { class: "tk-banner", role: "note", hidden: true });
    const quotes = h("div", { class: "tk-quotes" });
    const quote = ["bid", "ask", "mark", "last"].map((name) => {
      const value = h("strong");
      const take = h("button", { type: "button", class: "tk-quote" }, h("span", {}, name), value);
      take.addEventListener("click", () => {
        if (take.dataset.price && model.get("order_type") === "LIMIT") {
          model.set("price", take.dataset.price);
          model.save_changes();
        }
      });
      quotes.append(take);
      return { name, take, value };
    });

    const side = keep(radios(model, "side", "Side", [["BUY", "▲ Buy"], ["SELL", "▼ Sell"]], id));
    const type = keep(radios(model, "order_type", "Order type", [["LIMIT", "Limit"], ["MARKET", "Market"]], id));
    const price = keep(text(model, "price", id, { inputmode: "decimal", placeholder: "price" }), "price");
    const quantity = keep(text(model, "quantity", id, { inputmode: "decimal", placeholder: "quantity" }), "quantity");
    const unit = keep(select(model, "quantity_as", UNITS, id));
    unit.made.setAttribute("aria-label", "Quantity is given as");
    const tif = keep(select(model, "tif", TIFS, id));
    const reduce = h("input", { type: "checkbox", id: `${id}-reduce_only` });
    reduce.addEventListener("change", () => {
      model.set("reduce_only", reduce.checked);
      model.save_changes();
    });
    drawn.push(() => (reduce.checked = model.get("reduce_only")));
    const takeProfit = keep(text(model, "take_profit", id, { inputmode: "decimal", placeholder: "none" }), "take_profit");
    const stopLoss = keep(text(model, "stop_loss", id, { inputmode: "decimal", placeholder: "none" }), "stop_loss");
    const trigger = keep(select(model, "trigger_by", TRIGGERS, id));
    const slippage = keep(text(model, "slippage", id, { inputmode: "decimal", placeholder: "0.03" }), "slippage");
    const clientId = keep(text(model, "client_id", id, { inputmode: "numeric", placeholder: "made for you" }), "client_id");
    const texts = [price, quantity, takeProfit, stopLoss, slippage, clientId];

    const priceField = field("price", "Price (USDC)", price.input);
    const quantityField = field("quantity", "Quantity", quantity.input, unit.made);
    const slippageField = field("slippage", "Slippage (ratio)", slippage.input);
    spots.reduce_only = told("reduce_only");
    const reduceField = h("div", { class: "tk-field tk-check" }, reduce, h("label", { for: `${id}-reduce_only` }, "Reduce only"), spots.reduce_only);
    const extra = h(
      "details", { class: "tk-more" }, h("summary", {}, "Take profit, stop loss, client id"),
      h("div", { class: "tk-two" }, field("take_profit", "Take profit at", takeProfit.input), field("stop_loss", "Stop loss at", stopLoss.input)),
      h("div", { class: "tk-two" }, field("trigger_by", "Triggered by", trigger.made), field("client_id", "Client id", clientId.input)),
    );
    spots.other = told("other");
    const form = h(
      "form", { class: "tk-form", novalidate: true, "aria-label": "Order" }, side.group, type.group, priceField, quantityField,
      slippageField, h("div", { class: "tk-two" }, field("tif", "Time in force", tif.made), reduceField), extra, spots.other,
    );

    const preview = h("dl", { class: "tk-pairs tk-preview" });
    const go = h("button", { type: "submit", class: "tk-go" }, "Review order");
    form.append(preview, go);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      texts.forEach((one) => one.tell());
      model.send({ do: "submit" });
    });

    // The review: nothing is signed before its button is pressed.
    const question = h("p", { class: "tk-question", id: `${id}-question`, tabindex: "-1" });
    const pieces = {};
    const piece = (name, label, block) => {
      pieces[name] = h(block ? "pre" : "code", block ? { tabindex: "0", "aria-label": label } : {});
      return h("div", { class: "tk-piece" }, h("span", {}, label), pieces[name]);
    };
    const signing = h(
      "details", { class: "tk-more" }, h("summary", {}, "What will be signed"),
      piece("signer", "Signer (agent)"), piece("digest", "Digest"), piece("connectionId", "connectionId"), piece("nonce", "Nonce"),
      piece("action", "Action", true), piece("typedData", "Typed data", true), piece("proto", "Protobuf bytes", true),
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

    // What became of the last order.
    const steps = h("ol", { class: "tk-steps" });
    const [storyHead, storyRest] = [h("strong"), h("span")];
    const story = h("p", { class: "tk-story", role: "status", "aria-live": "polite" }, storyHead, storyRest);
    const summary = h("p", { class: "tk-note" });
    const children = h("ul", { class: "tk-children" });
    const ask = h("button", { type: "button", class: "tk-small" }, "Ask the venue");
    ask.addEventListener("click", () => model.send({ do: "ask" }));
    const follow = h("div", { class: "tk-follow", hidden: true }, summary, steps, story, children, ask);
    body.append(banner, quotes, form, review, follow);

    const pairs = (list, entries) => {
      const made = rows(list, entries.length, () => h("div", {}, h("dt"), h("dd")));
      entries.forEach(([name, value, about], index) => {
        const [term, shown] = made[index].children;
        put(term, name);
        paint(shown, value);
        shown.title = about;
        shown.dataset.about = about;
      });
    };
    const problems = (view) => {
      const list = view.problems || [];
      const all = { price: priceField, quantity: quantityField, slippage: slippageField };
      for (const [name, spot] of Object.entries(spots)) {
        const own = list.filter((one) => (name === "other" ? !(one.field in spots) : one.field === name));
        const key = JSON.stringify(own);
        if (spot.dataset.key === key) continue;
        const inside = spot.contains(document.activeElement);
        spot.dataset.key = key;
        spot.replaceChildren(...own.map((one) => line(one)));
        const input = root.querySelector(`#${id}-${name}`);
        if (input) input.setAttribute("aria-invalid", String(own.some((one) => !one.missing)));
        if (inside && input) input.focus();
      }
      for (const [name, part] of Object.entries(all)) toggle(part, "tk-wrong", list.some((one) => one.field === name && !one.missing));
      if (list.some((one) => ["take_profit", "stop_loss", "client_id", "trigger_by"].includes(one.field))) extra.open = true;
    };
    const line = (one) => {
      const made = h("div", { class: one.missing ? "tk-hint" : "tk-wrong-line" });
      made.append(h("span", {}, `${one.missing ? "" : "✖ "}${one.message}`));
      for (const label of one.choices) {
        const take = h("button", { type: "button", class: "tk-chip", "aria-label": `Take ${label} for ${one.field.replace("_", " ")}` }, label);
        take.addEventListener("click", () => model.send({ do: "take", field: one.field, label }));
        made.append(take);
      }
      return made;
    };

    return (view, lock) => {
      drawn.forEach((draw) => draw());
      const buys = model.get("side") === "BUY";
      const market = model.get("order_type") === "MARKET";
      toggle(root, "tk-buys", buys);
      toggle(root, "tk-sells", !buys);
      toggle(root, "tk-real", view.mainnet);
      put(note, `${view.account || ""} · ${view.environment || ""}`);
      put(banner, view.mainnet ? "⚠ MAINNET: real money" : view.readOnly || "");
      show(banner, view.mainnet || view.readOnly);
      for (const one of quote) {
        const value = (view.market || {})[one.name] || "–";
        put(one.value, value);
        one.take.dataset.price = value === "–" ? "" : value.replaceAll(",", "");
        one.take.disabled = market || value === "–";
        one.take.setAttribute("aria-label", `${one.name} ${value}${market ? "" : ", take as price"}`);
      }
      show(priceField, !market);
      show(slippageField, market);
      tif.made.options[0].textContent = market ? "IOC (usual)" : "GTC (usual)";
      const limits = view.limits || {};
      quantity.input.setAttribute("aria-label", `Quantity, in ${{ base: view.base, notional: "USDC", share: "percent of what is available" }[model.get("quantity_as")]}`);
      unit.made.options[0].textContent = view.base || "units";
      price.input.title = `tick ${limits.tick}`;
      quantity.input.title = `step ${limits.step}, at least ${limits.minValue} USDC, at most ${limits.maxQuantity}`;
      slippage.input.placeholder = `0.03 (at most ${limits.maxSlippage})`;
      problems(view);

      const reviewing = model.get("phase") === "review" && view.review;
      const sending = model.get("phase") === "sending";
      const stopped = Boolean(lock) || Boolean(view.readOnly);
      pairs(preview, view.preview || []);
      show(form, !reviewing);
      put(go, sending ? "Sending…" : `Review ${buys ? "buy" : "sell"} order`);
      go.disabled = stopped || sending || !view.valid;
      if (reviewing && token !== view.review.token) {
        token = view.review.token;
        typed.value = "";
        signing.open = false;
        const inside = root.contains(document.activeElement);
        show(review, true);
        if (inside) question.focus();
      }
      show(review, reviewing);
      if (reviewing) {
        put(question, view.order);
        pairs(reviewPreview, view.preview || []);
        for (const [name, element] of Object.entries(pieces)) put(element, view.review[name]);
        show(typedField, view.mainnet);
        put(typedLabel, `Real money. Type ${view.symbol} to confirm`);
        put(sign, `Sign and ${buys ? "buy" : "sell"}`);
        sign.disabled = stopped || !matches();
      }
      const last = view.following;
      show(follow, last);
      if (last) {
        put(summary, last.summary);
        const made = rows(steps, last.steps.length, () => h("li"));
        last.steps.forEach(([name, kind], index) => {
          put(made[index], `${{ done: "✓ ", bad: "✖ ", now: "● ", later: "○ " }[kind]}${name}`);
          made[index].className = `tk-step tk-step-${kind}`;
        });
        const [head, ...rest] = last.words.split(": ");
        put(storyHead, head + (rest.length ? ": " : ""));
        put(storyRest, rest.join(": "));
        const lines = rows(children, last.children.length, () => h("li"));
        last.children.forEach((words, index) => put(lines[index], words));
        show(ask, last.status === "UNKNOWN");
        toggle(follow, "tk-warn", ["UNKNOWN", "REJECTED", "NOT_SENT"].includes(last.status));
      }
    };
  });
}
export default { render };
