/** Templates: the fields of a card, and the balance at which each tier begins (spec 2.7). */
import type { components } from "@loyalty-cards/openapi/control";
import { isTemplateInput } from "@loyalty-cards/openapi/control-validators";
import { roundPoints } from "./cards.ts";
import { type Domain, getById } from "./context.ts";
import { type FieldError, InputError } from "./errors.ts";
import { generateId } from "./ids.ts";
import { createFieldError, type Sentence } from "./problem.ts";
import type { FieldValues, StoredCard, Template, TemplateField } from "./state.ts";
import { escapePointer, validateInput } from "./validation.ts";

/** A template to create. Its default id is a generated one. */
export type TemplateInput = components["schemas"]["TemplateInput"];

/** @throws {TypeError} for an invalid template; the message names the member. */
export function createTemplate({ state, notifyChange }: Domain, input: TemplateInput): Template {
  const valid = validateInput(isTemplateInput, input, "The template");
  const { id = generateId("tpl"), fields = [], tiers = [], ...look } = valid;
  if (!/^\w[\w.-]*$/.test(id)) {
    throw new InputError(
      "template.id may have letters, digits, '.', '_' and '-', and begins with one of the first or '_'.",
    );
  }
  if (state.templates.has(id)) throw new InputError(`A template "${id}" already exists.`);
  const keys = fields.map(({ key }) => key);
  const repeated = keys.find((key, index) => keys.indexOf(key) < index);
  if (repeated !== undefined) throw new InputError(`The template has two fields "${repeated}".`);
  const template: Template = {
    ...look,
    id,
    fields: fields.map((field) => ({ ...field, required: field.required ?? false })),
    tiers: [...tiers].sort((a, b) => a.from - b.from),
    isArchived: false,
  };
  state.templates.set(id, template);
  notifyChange();
  return template;
}

/** The first template that is not archived; when all are, the first one. */
export function getDefaultTemplate({ state }: Domain): Template {
  const all = [...state.templates.values()];
  return all.find(({ isArchived }) => !isArchived) ?? (all[0] as Template);
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
 * Validates the field values of a card of this template ([spec
 * 4.1.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1-2)). Keys that the
 * template does not have are allowed.
 */
export function validateFieldValues(template: Template, values: FieldValues): FieldError[] {
  const createError = (key: string, sentence: Sentence) =>
    createFieldError(toPointer(key), sentence, getFieldLabel(template, key));
  const ofFields = template.fields.flatMap((field) => {
    const value = Object.hasOwn(values, field.key) ? values[field.key] : undefined;
    const sentence = findMistake(field, value);
    return sentence === undefined ? [] : [createError(field.key, sentence)];
  });
  const ofNumbers = Object.entries(values)
    .filter(([, value]) => isTooLarge(value))
    .map(([key]) => createError(key, "smallerNumber"));
  return [...ofFields, ...ofNumbers];
}

/** @returns the sentence about the value; undefined for a valid one. */
function findMistake(
  { type, required }: TemplateField,
  value: string | number | undefined,
): Sentence | undefined {
  const isBlank = value === undefined || (typeof value === "string" && value.trim() === "");
  if (isBlank) return required ? "missing" : undefined;
  if (type === "number") return typeof value === "number" ? undefined : "number";
  return typeof value === "string" ? undefined : "text";
}

/** 1e400 is valid JSON, and not a finite number. */
const isTooLarge = (value: string | number) => typeof value === "number" && !Number.isFinite(value);

/** The name of a field that people see; its key when the template does not have the field. */
export const getFieldLabel = ({ fields }: Template, key: string) =>
  fields.find((field) => field.key === key)?.label ?? key;

const toPointer = (key: string) => `/fieldValues/${escapePointer(key)}`;

/** The tier at a number of points; null below the first tier. */
export function getTier(template: Template, points: number): string | null {
  return template.tiers.findLast(({ from }) => points >= from)?.name ?? null;
}

/** The tier after that; the points up to it, and those at which the progress to it begins. */
export function getNextTier({ tiers }: Template, points: number) {
  const next = tiers.find(({ from }) => from > points);
  if (next === undefined) return undefined;
  const progressFrom = tiers.findLast(({ from }) => from <= points)?.from;
  const missing = roundPoints(next.from - points);
  return { ...next, missing, progressFrom: progressFrom ?? Math.min(0, next.from) };
}
