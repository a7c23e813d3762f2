/** Templates: the fields of a card, and the balance at which each level starts. */
import { get, post } from "./api.js";
import { h, numberText, plural } from "./dom.js";
import {
  button,
  checkbox,
  confirmAction,
  copyable,
  empty,
  field,
  form,
  heading,
  panel,
  showToast,
} from "./parts.js";

const fieldTypes = [
  ["text", "Text"],
  ["name", "Name"],
  ["number", "Number"],
];

export const templatesPage = {
  title: "Templates",
  concerns: ["template"],
  load: () => get("templates"),

  show({ items }, state) {
    return [
      heading(
        "Templates",
        "A template defines the fields and the levels of its cards.",
        button("Create a template", "open-form", {
          kind: "primary",
          "aria-expanded": String(state.isOpen === true),
        }),
      ),
      state.isOpen && createForm(),
      items.length === 0
        ? empty("No templates yet", "Create a template to issue cards.")
        : h("ul", { class: "cards", "data-key": "list" }, items.map(templateCard)),
    ];
  },

  actions: {
    "open-form"(_id, { state }) {
      state.isOpen = state.isOpen !== true;
    },
    "add-field": (_id, { element }) => appendRow(element, fieldRow()),
    "add-tier": (_id, { element }) => appendRow(element, tierRow()),
    "remove-row": (_id, { element }) => element.closest(".form-row").remove(),
    async archive(id) {
      const isSure = await confirmAction(
        "Archive this template?",
        "Its cards stay. Requests to issue cards from it will get 404.",
        "Archive it",
      );
      if (!isSure) return;
      await post(`templates/${encodeURIComponent(id)}/archive`);
      showToast("The template was archived.");
    },
  },

  submits: {
    async create(values, { form: filled, state }) {
      const id = values.get("id");
      await post("templates", {
        name: values.get("name"),
        ...(id !== "" && { id }),
        fields: readRows(filled, "field").map((row) => {
          const label = row("label").value;
          return {
            key: row("key").value,
            type: row("type").value,
            required: row("required").checked,
            ...(label !== "" && { label }),
          };
        }),
        tiers: readRows(filled, "tier").map((row) => ({
          name: row("name").value,
          from: row("from").value === "" ? null : Number(row("from").value),
        })),
      });
      state.isOpen = false;
      showToast("The template was created.");
    },
  },
};

const createForm = () =>
  panel(
    "Create a template",
    form("create", "Create the template", [
      h(
        "div",
        { class: "grid" },
        field("Name", "name", { hint: "Shown on the card." }),
        field("Id (optional)", "id", { hint: "Generated when left empty." }),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Fields"),
        h(
          "div",
          { class: "form-rows", "data-keep": true },
          fieldRow({ key: "name", type: "name", label: "Name" }),
        ),
        button("Add a field", "add-field", { kind: "small" }),
      ),
      h(
        "fieldset",
        {},
        h("legend", {}, "Levels"),
        h("div", { class: "form-rows", "data-keep": true }, tierRow({ name: "Silver", from: 100 })),
        button("Add a level", "add-tier", { kind: "small" }),
      ),
    ]),
  );

let rows = 0;

function appendRow(pressed, row) {
  pressed.previousElementSibling.append(row);
  row.querySelector("input").focus();
}

/**
 * The row number makes the names of inputs unique; `data-part` names the member that an input edits.
 * @param {{ key?: string, type?: string, label?: string }} field
 */
function fieldRow({ key, type = "text", label } = {}) {
  rows += 1;
  const row = rows;
  return h(
    "div",
    { class: "form-row", "data-row": "field" },
    field("Key", `key-${row}`, { value: key, "data-part": "key" }),
    field("Label (optional)", `label-${row}`, { value: label, "data-part": "label" }),
    field("Type", `type-${row}`, { options: fieldTypes, chosen: type, "data-part": "type" }),
    checkbox("Required", `required-${row}`, { "data-part": "required" }),
    button("Remove", "remove-row", { kind: "small", "aria-label": "Remove this field" }),
  );
}

/** @param {{ name?: string, from?: number }} tier */
function tierRow({ name, from } = {}) {
  rows += 1;
  const row = rows;
  return h(
    "div",
    { class: "form-row", "data-row": "tier" },
    field("Level", `tier-${row}`, { value: name, "data-part": "name" }),
    field("From balance", `from-${row}`, { value: from, type: "number", step: "any", "data-part": "from" }),
    button("Remove", "remove-row", { kind: "small", "aria-label": "Remove this level" }),
  );
}

const readRows = (filled, kind) =>
  [...filled.querySelectorAll(`[data-row="${kind}"]`)].map(
    (row) => (part) => row.querySelector(`[data-part="${part}"]`),
  );

const templateCard = ({ id, name, fields, tiers, isArchived }) =>
  h(
    "li",
    { class: "panel", "data-key": id },
    h(
      "header",
      {},
      h("div", {}, h("h2", {}, name), copyable(id, "the template's id")),
      isArchived
        ? h("span", { class: "pill quiet" }, "Archived")
        : button("Archive", "archive", { id, kind: "small", "aria-label": `Archive ${name}` }),
    ),
    h(
      "div",
      { class: "columns narrow" },
      h(
        "div",
        {},
        h("h3", {}, plural(fields.length, "field")),
        h(
          "ul",
          { class: "plain" },
          fields.map(({ key, type, required, label }) =>
            h(
              "li",
              {},
              h("code", {}, key),
              ` ${label && label !== key ? `“${label}”, ` : ""}${type}${required ? ", required" : ""}`,
            ),
          ),
        ),
      ),
      h(
        "div",
        {},
        h("h3", {}, plural(tiers.length, "level")),
        h(
          "ul",
          { class: "plain" },
          tiers.map((tier) => h("li", {}, `${tier.name} from ${numberText(tier.from)}`)),
        ),
      ),
    ),
  );
