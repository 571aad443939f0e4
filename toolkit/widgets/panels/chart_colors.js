/** The colours of a page's theme, resolved to plain ones, which a canvas needs; `watch` calls when the theme changes. */
function themeColors(root) {
  const probe = h("i", { hidden: true });
  root.append(probe);
  const names = { up: "--tk-up", down: "--tk-down", text: "--tk-text", soft: "--tk-soft", line: "--tk-line", back: "--tk-back", focus: "--tk-focus", bad: "--tk-bad" };
  const read = () => {
    const found = {};
    for (const [name, variable] of Object.entries(names)) {
      probe.style.color = `var(${variable})`;
      found[name] = getComputedStyle(probe).color;
    }
    // Jupyter's soft colours are see-through black; the labels of a chart would show them as black.
    const behind = found.back.match(/[0-9.]+/g);
    for (const name of Object.keys(names)) {
      const [r, g, b, opacity] = found[name].match(/[0-9.]+/g);
      if (opacity) found[name] = `rgb(${[r, g, b].map((one, at) => Math.round(one * opacity + behind[at] * (1 - opacity))).join(", ")})`;
    }
    return found;
  };
  return {
    read,
    font: () => getComputedStyle(root).fontFamily,
    /** Return a colour with this opacity. */
    fade: (color, opacity) => {
      const [r, g, b] = color.match(/[0-9.]+/g);
      return `rgba(${r}, ${g}, ${b}, ${opacity})`;
    },
    watch: (call) => {
      const observer = new MutationObserver(call);
      const filter = { attributes: true, attributeFilter: ["class", "style", "theme", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"] };
      observer.observe(document.documentElement, filter);
      observer.observe(document.body, filter);
      observer.observe(root, { attributes: true, attributeFilter: ["style"] });
      const media = window.matchMedia("(prefers-color-scheme: dark)");
      media.addEventListener("change", call);
      return () => {
        observer.disconnect();
        media.removeEventListener("change", call);
      };
    },
  };
}
