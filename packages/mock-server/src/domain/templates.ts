/** Templates: which fields a card has, and which level begins at which balance (spec 2.7). */
import { NotFoundError } from "./not-found.ts";
import type { MemberFault } from "./problem.ts";
import type { Domain } from "./surroundings.ts";

/** One field of a template. */
export interface TemplateField {
  key: string;
  type: "name" | "text" | "number";
  required: boolean;
  /** How people call it; the key when absent. */
  label?: string;
}

/** A level, and the lowest balance that has it. */
export interface Tier {
  name: string;
  /** The lowest balance of the level. */
  from: number;
}

/** What cards are issued from (spec 2.7). */
export interface Template {
  id: string;
  name: string;
  fields: readonly TemplateField[];
  /** From the lowest level to the highest. */
  tiers: readonly Tier[];
  isArchived: boolean;
}

/** A template to be; an absent id is made up. */
export interface TemplateInput {
  id?: string;
  name: string;
  fields?: readonly (Omit<TemplateField, "required"> & { required?: boolean })[];
  tiers?: readonly Tier[];
}

export interface TemplateStore {
  templates: Map<string, Template>;
}

export type FieldValues = Record<string, string | number>;

export const fieldTypes: readonly string[] = ["name", "text", "number"];

/** @throws {TypeError} for a template that could not be issued from; the message names the member. */
export function createTemplate(
  { state, newIdentifier, tell }: Domain<TemplateStore>,
  input: TemplateInput,
): Template {
  const { id = newIdentifier("tpl"), name, fields = [], tiers = [] } = input;
  if (typeof name !== "string" || name.trim() === "") throw new TypeError("template.name is missing.");
  if (typeof id !== "string" || !/^\w[\w.-]*$/.test(id)) {
    throw new TypeError(
      "template.id may have letters, digits, '.', '_' and '-', and begins with one of the first or '_'.",
    );
  }
  if (state.templates.has(id)) throw new TypeError(`There is a template "${id}" already.`);
  const keys = new Set<string>();
  for (const { key, type } of fields) {
    if (typeof key !== "string" || key === "") throw new TypeError("A field of the template has no key.");
    if (keys.has(key)) throw new TypeError(`The template has two fields "${key}".`);
    if (!fieldTypes.includes(type)) {
      throw new TypeError(`Field "${key}" has type "${type}"; use one of ${fieldTypes.join(", ")}.`);
    }
    keys.add(key);
  }
  for (const tier of tiers) {
    if (typeof tier.name !== "string" || !Number.isFinite(tier.from)) {
      throw new TypeError('A tier needs a name and the balance it begins at: { name: "Silver", from: 100 }.');
    }
  }
  const template: Template = {
    id,
    name,
    fields: fields.map((field) => ({ ...field, required: field.required ?? false })),
    tiers: [...tiers].sort((a, b) => a.from - b.from),
    isArchived: false,
  };
  state.templates.set(id, template);
  tell({ type: "template", id, action: "created" });
  return template;
}

export function archiveTemplate({ state, tell }: Domain<TemplateStore>, id: string): Template {
  const template = state.templates.get(id);
  if (template === undefined) throw new NotFoundError(`There is no template "${id}".`);
  template.isArchived = true;
  tell({ type: "template", id, action: "changed" });
  return template;
}

/** What is wrong with the values for a card of this template (spec 4.1.2). Keys beyond the template are kept. */
export function fieldFaults(template: Template, values: FieldValues): MemberFault[] {
  const faults: MemberFault[] = [];
  for (const { key, type, required, label = key } of template.fields) {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    const pointer = pointerOf(key);
    const isBlank = value === undefined || (typeof value === "string" && value.trim() === "");
    if (isBlank) {
      if (required) faults.push({ pointer, detail: `Please fill in "${label}".` });
    } else if (typeof value !== (type === "number" ? "number" : "string")) {
      faults.push({
        pointer,
        detail: `Please enter ${type === "number" ? "a number" : "text"} for "${label}".`,
      });
    }
  }
  for (const [key, value] of Object.entries(values)) {
    if (typeof value !== "number" || Number.isFinite(value)) continue; // 1e400 is JSON, and no number here
    faults.push({
      pointer: pointerOf(key),
      detail: `Please enter a smaller number for "${labelOf(template, key)}".`,
    });
  }
  return faults;
}

/** How people call a field; its key when the template has no such field. */
export const labelOf = ({ fields }: Template, key: string) =>
  fields.find((field) => field.key === key)?.label ?? key;

const pointerOf = (key: string) => `/fieldValues/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The level of so many points, null below all levels. */
export function tierOf(template: Template, points: number): string | null {
  return template.tiers.findLast(({ from }) => points >= from)?.name ?? null;
}
