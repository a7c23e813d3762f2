/** Warnings: requests that are probably mistakes of the website. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import type { components } from "@loyalty-cards/openapi";
import type { components as ControlSchemas } from "@loyalty-cards/openapi/control";
import { isMaintained, type StoredCard } from "./cards.ts";
import type { Domain } from "./context.ts";
import { hashText } from "./idempotency.ts";
import type { FieldValues, Template, TemplateStore } from "./templates.ts";

/** A request that is probably a mistake. Contains the keys of field values, and no values or other personal data. */
export type RequestWarning = ControlSchemas["schemas"]["RequestWarning"];

/** A warning as it is stored. */
export interface Warning extends RequestWarning {
  id: string;
  /** ISO 8601, by the clock of the service. */
  at: string;
}

export interface WarningStore {
  /** The newest 100, oldest first. */
  warnings: Map<string, Warning>;
}

const maxWarnings = 100;
const maxFields = 10;
/** A warning is not repeated within this time, by the clock of the service: one mistake in an import is one warning. */
const burstMs = 60_000;

/** Stores a warning and logs it. */
export function addWarning(
  { state, generateId, nowMs, notifyChange, log }: Domain<WarningStore>,
  details: RequestWarning,
): void {
  const now = nowMs();
  for (const { at, ...known } of state.warnings.values()) {
    if (known.message === details.message && Math.abs(now - Date.parse(at)) < burstMs) return;
  }
  const warning: Warning = { id: generateId("wrn"), at: new Date(now).toISOString(), ...details };
  state.warnings.set(warning.id, warning);
  notifyChange({ type: "warning", id: warning.id, action: "created" });
  const [oldest] = state.warnings.keys();
  if (state.warnings.size > maxWarnings && oldest !== undefined) {
    state.warnings.delete(oldest);
    notifyChange({ type: "warning", id: oldest, action: "removed" });
  }
  log(`warning: ${warning.message}`);
}

/** A request that repeats an idempotency key. `fieldValues` is undefined when the body has none. */
export interface Replay {
  templateId: string;
  idempotencyKey: string;
  fieldValues: FieldValues | undefined;
}

/** The response is the stored one, so the new content has no effect. It may even be about another person. */
export function warnAboutOtherContent(
  domain: Domain<TemplateStore>,
  { templateId, idempotencyKey, fieldValues = {} }: Replay,
  stored: StoredCard | { status: number },
): RequestWarning {
  const keyHash = (hashText(idempotencyKey) >>> 0).toString(16).padStart(8, "0");
  const isKnown = domain.state.templates.has(templateId); // an unknown id is not logged: it can contain anything
  const card = "balance" in stored ? stored : undefined;
  const fields = card === undefined ? [] : findDifferentKeys(domain, card, fieldValues);
  const [outcome, advice] =
    card === undefined
      ? [
          `the stored ${(stored as { status: number }).status}`,
          "After a correction send a new key: set another keySuffix.",
        ]
      : [
          `card ${card.id}`,
          "If this is another person, two people share a key: set idempotencyNamespace, and use user ids that never repeat.",
        ];
  const difference = fields.length === 0 ? "other content" : `other fieldValues: ${listKeys(fields)}`;
  return {
    type: "replay-with-other-content",
    message:
      `An idempotency key was repeated with ${difference} (key hash ${keyHash}, ${isKnown ? `template ${templateId}` : "unknown template"}). ` +
      `The response was ${outcome}, and the new content had no effect. ${advice}`,
    keyHash,
    ...(isKnown && { templateId }),
    ...(card && { cardId: card.id }),
    ...(fields.length > 0 && { fields: fields.slice(0, maxFields).map((key) => toPrintable(key)) }),
  };
}

function findDifferentKeys(
  { state }: Domain<TemplateStore>,
  { templateId, fieldValues }: StoredCard,
  sent: FieldValues,
): string[] {
  const template = state.templates.get(templateId);
  return [...new Set([...Object.keys(fieldValues), ...Object.keys(sent)])]
    .filter((key) => template === undefined || !isMaintained(template, key))
    .filter((key) => readOwn(fieldValues, key) !== readOwn(sent, key))
    .sort();
}

const readOwn = (values: FieldValues, key: string) => (Object.hasOwn(values, key) ? values[key] : undefined);

type IssueCardRequest = components["schemas"]["IssueCardRequest"];

/** The members of a request, as far as the service knows them. */
const requestMembers = Object.keys({ fieldValues: true, customer: true } satisfies Record<
  keyof IssueCardRequest,
  true
>);
const customerMembers = Object.keys({
  phone: true,
  email: true,
  name: true,
  consents: true,
} satisfies Record<keyof IssueCardRequest["customer"], true>);

/** A misspelt member is ignored, and a misspelt key is stored with the card: what was meant is empty. */
export function warnAboutUnknownFields(template: Template, request: IssueCardRequest): RequestWarning[] {
  const fields = template.fields.map(({ key }) => key);
  const places: [type: RequestWarning["type"], what: string, value: object, known: string[]][] = [
    [
      "unknown-fields",
      `fieldValues has keys that template ${template.id} does not have`,
      request.fieldValues ?? {},
      fields,
    ],
    ["unknown-members", "The request has members that the service ignores", request, requestMembers],
    ["unknown-members", "customer has members that the service ignores", request.customer, customerMembers],
  ];
  return places.flatMap(([type, what, value, known]) => {
    const unknown = Object.keys(value).filter((key) => !known.includes(key));
    if (unknown.length === 0) return [];
    const names = unknown.slice(0, maxFields).map((key) => {
      const meant = findNearestName(key, known);
      return `"${toPrintable(key)}"${meant === undefined ? "" : ` (did you mean "${toPrintable(meant)}"?)`}`;
    });
    const rules = type === "unknown-fields" ? describeFields(fields) : "";
    const warning = {
      type,
      message: `${what}: ${names.join(", ")}${formatMore(unknown)}. ${rules}`.trimEnd(),
      templateId: template.id,
      fields: unknown.slice(0, maxFields).map((key) => toPrintable(key)),
    };
    return [warning];
  });
}

const describeFields = (keys: readonly string[]) =>
  keys.length === 0 ? "The template has no fields." : `Its fields are ${listKeys(keys)}.`;

const listKeys = (keys: readonly string[]) =>
  keys
    .slice(0, maxFields)
    .map((key) => `"${toPrintable(key)}"`)
    .join(", ") + formatMore(keys);

const formatMore = ({ length }: readonly string[]) =>
  length > maxFields ? ` and ${length - maxFields} more` : "";
