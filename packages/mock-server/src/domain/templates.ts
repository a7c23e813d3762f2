/** Templates: the fields of a card, and the balance at which each level begins (spec 2.7). */

import type { components } from "@loyalty-cards/openapi/control";
import { TemplateInput as TemplateInputSchema } from "@loyalty-cards/openapi/control-validators";
import { type Domain, generateId, getById } from "./context.ts";
import { createFieldError, type FieldError, validateInput } from "./problem.ts";
import type { FieldValues, StoredCard, Template } from "./state.ts";

/** A template to create. Its default id is a generated one. */
export type TemplateInput = components["schemas"]["TemplateInput"];

/** @throws {TypeError} for an invalid template; the message names the member. */
export function createTemplate({ state, notifyChange }: Domain, input: TemplateInput): Template {
  const { id = generateId("tpl"), name, fields = [], tiers = [] } = validateInput(TemplateInputSchema, input);
  if (!/^\w[\w.-]*$/.test(id)) {
    throw new TypeError(
      "template.id may have letters, digits, '.', '_' and '-', and begins with one of the first or '_'.",
    );
  }
  if (state.templates.has(id)) throw new TypeError(`A template "${id}" already exists.`);
  const keys = fields.map(({ key }) => key);
  const repeated = keys.find((key, index) => keys.indexOf(key) < index);
  if (repeated !== undefined) throw new TypeError(`The template has two fields "${repeated}".`);
  const template: Template = {
    id,
    name,
    fields: fields.map((field) => ({ ...field, required: field.required ?? false })),
    tiers: [...tiers].sort((a, b) => a.from - b.from),
    isArchived: false,
  };
  state.templates.set(id, template);
  notifyChange();
  return template;
}

/** The template of a card. Templates are archived, never removed. */
export const getTemplate = ({ state }: Domain, { templateId }: StoredCard) =>
  state.templates.get(templateId) as Template;

export function archiveTemplate({ state, notifyChange }: Domain, id: string): Template {
  const template = getById(state.templates, id, "template");
  template.isArchived = true;
  notifyChange();
  return template;
}

/**
 * Validates the field values of a card of this template ([spec 4.1.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1-2)). Keys that the
 * template does not have are allowed.
 */
export function validateFieldValues(template: Template, values: FieldValues): FieldError[] {
  const errors: FieldError[] = [];
  for (const { key, type, required, label = key } of template.fields) {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    const isBlank = value === undefined || (typeof value === "string" && value.trim() === "");
    if (isBlank) {
      if (required) errors.push(createFieldError(toPointer(key), "missing", label));
    } else if (typeof value !== (type === "number" ? "number" : "string")) {
      errors.push(createFieldError(toPointer(key), type === "number" ? "number" : "text", label));
    }
  }
  for (const [key, value] of Object.entries(values)) {
    if (typeof value !== "number" || Number.isFinite(value)) continue; // 1e400 is valid JSON, but not a finite number
    const label = getFieldLabel(template, key);
    errors.push(createFieldError(toPointer(key), "smallerNumber", label));
  }
  return errors;
}

/** The name of a field that people see; its key when the template does not have the field. */
export const getFieldLabel = ({ fields }: Template, key: string) =>
  fields.find((field) => field.key === key)?.label ?? key;

const toPointer = (key: string) => `/fieldValues/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The level at a number of points; null below the first level. */
export function getTier(template: Template, points: number): string | null {
  return template.tiers.findLast(({ from }) => points >= from)?.name ?? null;
}
