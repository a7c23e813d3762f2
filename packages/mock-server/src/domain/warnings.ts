/** Warnings: requests that are probably mistakes of the website. They contain the keys of field values, and no values or other personal data. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import type { components } from "@loyalty-cards/openapi";
import type { components as ControlSchemas } from "@loyalty-cards/openapi/control";
import { isMaintained } from "./cards.ts";
import type { Domain } from "./context.ts";
import { hashText } from "./idempotency.ts";
import type { FieldValues, StoredCard, StoredRefusal, Template } from "./state.ts";

/** A request that is probably a mistake. */
export type RequestWarning = ControlSchemas["schemas"]["RequestWarning"];

type IssueCardRequest = components["schemas"]["IssueCardRequest"];

const maxFields = 10;

/** A request that repeats an idempotency key. `fieldValues` is undefined when the body has none. */
interface Replay {
  templateId: string;
  idempotencyKey: string;
  fieldValues: FieldValues | undefined;
}

/** The response is the stored one, so the new content has no effect. It may even be about another person. */
export function warnAboutOtherContent(
  { state }: Domain,
  { templateId, idempotencyKey, fieldValues = {} }: Replay,
  stored: StoredCard | StoredRefusal,
): RequestWarning {
  const keyHash = (hashText(idempotencyKey) >>> 0).toString(16).padStart(8, "0");
  const isKnown = state.templates.has(templateId); // an unknown id is not logged: it can contain anything
  const card = "balance" in stored ? stored : undefined;
  const template = card && state.templates.get(card.templateId);
  const fields = card && template ? findDifferentKeys(template, card.fieldValues, fieldValues) : [];
  const difference = fields.length === 0 ? "other content" : `other fieldValues: ${listKeys(fields)}`;
  const outcome = "balance" in stored ? `card ${stored.id}` : `the stored ${stored.status}`;
  const advice = card
    ? "If this is another person, two people share a key: set idempotencyNamespace, and use user ids that never repeat."
    : "After a correction send a new key: set another keySuffix.";
  return {
    type: "replay-with-other-content",
    message:
      `An idempotency key was repeated with ${difference} (key hash ${keyHash}, ${isKnown ? `template ${templateId}` : "unknown template"}). ` +
      `The response was ${outcome}, and the new content had no effect. ${advice}`,
    keyHash,
    ...(isKnown && { templateId }),
    ...(card && { cardId: card.id }),
    ...(fields.length > 0 && { fields: toNames(fields) }),
  };
}

function findDifferentKeys(template: Template, stored: FieldValues, sent: FieldValues): string[] {
  const [storedValues, sentValues] = [new Map(Object.entries(stored)), new Map(Object.entries(sent))];
  return [...new Set([...storedValues.keys(), ...sentValues.keys()])]
    .filter((key) => !isMaintained(template, key) && storedValues.get(key) !== sentValues.get(key))
    .sort();
}

/** The members of a request, as far as the service knows them. */
const requestMembers = Object.keys({ fieldValues: 1, customer: 1 } satisfies Record<
  keyof IssueCardRequest,
  1
>);
const customerMembers = Object.keys({ phone: 1, email: 1, name: 1, consents: 1 } satisfies Record<
  keyof IssueCardRequest["customer"],
  1
>);

/** A misspelt member is ignored, and a misspelt key is stored with the card: what was meant is empty. */
export function warnAboutUnknownFields(
  { id, fields }: Template,
  { fieldValues = {}, ...request }: IssueCardRequest,
): RequestWarning[] {
  const find = (type: RequestWarning["type"], what: string, value: object, known: string[]) => {
    const unknown = Object.keys(value).filter((key) => !known.includes(key));
    if (unknown.length === 0) return [];
    const names = unknown.slice(0, maxFields).map((key) => {
      const meant = findNearestName(key, known);
      return `"${toPrintable(key)}"${meant === undefined ? "" : ` (did you mean "${toPrintable(meant)}"?)`}`;
    });
    const rules = type === "unknown-members" ? "" : describeFields(known);
    const message = `${what}: ${names.join(", ")}${formatMore(unknown)}. ${rules}`.trimEnd();
    return [{ type, message, templateId: id, fields: toNames(unknown) }];
  };
  const keys = fields.map(({ key }) => key);
  return [
    ...find("unknown-fields", `fieldValues has keys that template ${id} does not have`, fieldValues, keys),
    ...find("unknown-members", "The request has members that the service ignores", request, requestMembers),
    ...find(
      "unknown-members",
      "customer has members that the service ignores",
      request.customer,
      customerMembers,
    ),
  ];
}

const describeFields = (keys: readonly string[]) =>
  keys.length === 0 ? "The template has no fields." : `Its fields are ${listKeys(keys)}.`;

const toNames = (keys: readonly string[]) => keys.slice(0, maxFields).map((key) => toPrintable(key));

const listKeys = (keys: readonly string[]) =>
  toNames(keys)
    .map((key) => `"${key}"`)
    .join(", ") + formatMore(keys);

const formatMore = ({ length }: readonly string[]) =>
  length > maxFields ? ` and ${length - maxFields} more` : "";
