// The elements of the reference: <code-block text="…">, code with colours and a button that copies
// it; and <member-table label="…" schema="…">, a row for each member that an object of the JSON
// Schema has, and for the members of its members.

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

/** A date-time is a string, and a map says what its values are. */
function toType({ type = "any", format, additionalProperties: values }) {
  const name = [type].flat().join(" | ");
  if (values?.type) return `${name} of ${toType(values)}`;
  return format ? `${name} (${format})` : name;
}

function* toRows(schema, path) {
  const { properties = {}, required = [] } = schema.items ?? schema;
  for (const [key, member] of Object.entries(properties)) {
    yield { path, key, member, isOptional: !required.includes(key) };
    yield* toRows(member, `${path}${key}${member.items ? "[]" : ""}.`);
  }
}

/** @param {string} tag */
function create(tag, ...children) {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}

/** Text of the document with code between backticks. */
const toNodes = (text) =>
  text.split("`").map((part, index) => (index % 2 === 1 ? create("code", part) : part));

function createRow({ path, key, member, isOptional }) {
  const type = `${toType(member)}${isOptional ? ", optional" : ""}`;
  const name = create("th", create("span", path), key, " ", create("small", type));
  name.setAttribute("scope", "row");
  const known = member["x-extensible-enum"]?.map((value) => `\`${value}\``).join(", ");
  const description = [member.description, known && `Known values: ${known}.`]
    .filter(Boolean)
    .join(" ");
  return create("tr", name, " ", create("td", ...toNodes(description)));
}

class MemberTable extends HTMLElement {
  connectedCallback() {
    const rows = toRows(JSON.parse(this.getAttribute("schema")), this.getAttribute("path") ?? "");
    const table = create("table", create("tbody", ...Array.from(rows, createRow)));
    table.ariaLabel = this.getAttribute("label");
    this.replaceChildren(table);
  }
}
customElements.define("member-table", MemberTable);
