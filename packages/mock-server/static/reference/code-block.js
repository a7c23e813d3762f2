// The element <code-block text="…">: code with colours, and a button that copies it.

/** The kinds of words in JSON, TypeScript and curl, in the order in which they are tried. */
const kinds = {
  key: /"(?:[^"\\]|\\.)*"(?=:)|^[\w-]+(?=: )/,
  string: /"(?:[^"\\]|\\.)*"|'[^']*'/,
  comment: /(?<=^|\s)\/\/ .*/,
  keyword: /\b(?:import|from|const|await|async)\b/,
  value: /(?<=[ [])(?:-?\d[\d.]*|true|false|null)(?=[\s,}\]]|$)/,
};
const sources = Object.entries(kinds).map(([kind, { source }]) => `(?<${kind}>${source})`);
const words = new RegExp(sources.join("|"), "gm");

/** @param {string} text */
function* toParts(text) {
  let end = 0;
  for (const { 0: word, index, groups } of text.matchAll(words)) {
    const kind = Object.keys(kinds).find((name) => groups[name] !== undefined);
    const span = document.createElement("span");
    span.className = kind;
    span.append(word);
    yield text.slice(end, index);
    yield span;
    end = index + word.length;
  }
  yield text.slice(end);
}

class CodeBlock extends HTMLElement {
  static observedAttributes = ["text"];

  attributeChangedCallback(_name, _before, text) {
    const pre = document.createElement("pre");
    pre.tabIndex = 0; // it can scroll
    pre.append(...toParts(text));
    const button = document.createElement("button");
    button.type = "button";
    button.append("Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => button.replaceChildren("Copy"), 2000);
    });
    this.replaceChildren(pre, ...(isSecureContext ? [button] : []));
  }
}
customElements.define("code-block", CodeBlock);
