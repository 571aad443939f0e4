/**
 * The review step of a panel: what will be signed, exactly, and the two buttons. Nothing is signed before one is pressed.
 * `focusForm` takes the focus when the step ends, `focusOutcome` when it was signed; it returns whether there is one yet.
 */
function reviewPart(model, id, root, focusForm, focusOutcome) {
  const question = h("p", { class: "tk-question", id: `${id}-question`, tabindex: "-1" });
  const details = {};
  const detail = (name, label, block) => {
    details[name] = h(block ? "pre" : "code", block ? { tabindex: "0", role: "region", "aria-label": label } : {});
    return h("div", { class: "tk-detail" }, h("span", {}, label), details[name]);
  };
  const signing = h(
    "details", { class: "tk-more" }, h("summary", {}, "What will be signed"),
    detail("signer", "Signer (agent)"), detail("digest", "Digest"), detail("connectionId", "connectionId"), detail("nonce", "Nonce"),
    detail("action", "Action", true), detail("typedData", "Typed data", true), detail("proto", "Protobuf bytes", true),
  );
  const typed = h("input", { type: "text", id: `${id}-typed`, autocomplete: "off", spellcheck: "false" });
  const typedLabel = h("label", { for: `${id}-typed` });
  const typedField = h("div", { class: "tk-field" }, typedLabel, typed);
  const sign = h("button", { type: "button", class: "tk-go tk-sign" }, "Sign and send");
  const leave = () => sendPress(model, { do: "back" });
  const back = smallButton("Back", leave, { class: "tk-plain" });
  const preview = h("dl", { class: "tk-pairs tk-preview" });
  const element = h("div", { class: "tk-review", role: "group", "aria-labelledby": `${id}-question` });
  const parts = [question, preview, signing, typedField, h("div", { class: "tk-buttons" }, back, sign)];
  let token = 0;
  let sent = 0;
  let stopped;
  let rest = null;
  const review = () => model.get("view").review || {};
  const allowed = () => !stopped && sent !== token && (!review().real || typed.value === review().symbol);
  typed.addEventListener("input", () => setOff(sign, !allowed()));
  ignoreHeldKey(sign);
  sign.fresh = true;
  sign.addEventListener("click", () => {
    if (!allowed()) return;
    if (!sendPress(model, { do: "confirm", token, typed: typed.value }, review().expiry)) return;
    sent = token;
    setOff(sign, true);
  });
  element.addEventListener("keydown", (event) => event.key === "Escape" && leave());
  return {
    element,
    /** Draw the review, if there is one, and return whether there is. */
    draw(view, off) {
      const now = model.get("phase") === "review" && view.review;
      stopped = off;
      const held = element.contains(document.activeElement);
      if (now && token !== now.token) {
        // A new review starts with an empty confirmation, also when it follows another one directly.
        token = now.token;
        typed.value = "";
        signing.open = false;
        guardPress(sign);
        const inside = root.contains(document.activeElement);
        element.append(...parts);
        setVisible(element, true);
        if (inside) question.focus();
      }
      setVisible(element, now);
      if (now) {
        setText(question, now.question);
        drawPairs(preview, [...(now.rows || view.preview || []), ...(now.unchecked || [])]);
        for (const [name, part] of Object.entries(details)) setText(part, now[name]);
        setVisible(typedField, now.real);
        setText(typedLabel, `Real money. Type ${now.symbol} to confirm`);
        setText(sign, `Sign and ${now.verb}`);
        setOff(sign, !allowed());
      } else if (held) {
        focusForm();
        rest = sent === token ? document.activeElement : null;
      }
      if (!now && element.firstChild) element.replaceChildren();
      // The outcome comes a moment later, in a message of its own.
      if (rest && (document.activeElement !== rest || focusOutcome())) rest = null;
      return Boolean(now);
    },
  };
}

/** Draw [name, value, note] as a list of terms, each note below its value. */
function drawPairs(list, entries) {
  drawTerms(list, entries, (term, about) => setAttribute(term.nextSibling, "data-about", about || ""));
}
