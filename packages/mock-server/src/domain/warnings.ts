/** Warnings: requests that are probably mistakes of the website. They contain the keys of field values, and no values or other personal data. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName } from "@loyalty-cards/internal/nearest-name";
import type { components } from "@loyalty-cards/openapi";
import type { components as ControlSchemas } from "@loyalty-cards/openapi/control";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { isMaintained } from "./cards.ts";
import type { Domain } from "./context.ts";
import { Problem } from "./problem.ts";
import type { FieldValues, StoredCard, Template } from "./state.ts";
import { getTemplate } from "./templates.ts";

/** A request that is probably a mistake. */
export type RequestWarning = ControlSchemas["schemas"]["RequestWarning"];

const { schemas } = openapi.components;

type IssueCardRequest = components["schemas"]["IssueCardRequest"];

/** The response is that of the first request, so the new content has no effect. It may even be about another person. */
export function warnAboutOtherContent(
  domain: Domain,
  first: StoredCard | Problem,
  fieldValues: FieldValues,
): RequestWarning {
  const warn = (what: string, advice: string, fields: string[] = []) =>
    createWarning("replay-with-other-content", `Other content under the same key${what}. ${advice}`, fields);
  if (first instanceof Problem) {
    const advice = "after a correction send a new key, with another keySuffix.";
    return warn("", `The response is the stored ${first.status} of the first request: ${advice}`);
  }
  const template = getTemplate(domain, first);
  const fields = Object.keys({ ...first.fieldValues, ...fieldValues }).filter(
    (key) => !isMaintained(template, key) && first.fieldValues[key] !== fieldValues[key],
  );
  return warn(
    fields.length === 0 ? "" : `: ${listNames(fields)}`,
    `Two people may share a key: set idempotencyNamespace, and use user ids that never repeat. The response is card ${first.id} of the first request.`,
    fields,
  );
}

/** A misspelt member is ignored, and a misspelt key is stored with the card: what was meant is empty. */
export function warnAboutUnknownFields(
  { id, fields }: Template,
  { fieldValues = {}, ...request }: IssueCardRequest,
): RequestWarning[] {
  const keys = fields.map(({ key }) => key);
  const rule = keys.length === 0 ? " The template has no fields." : ` Its fields are ${listNames(keys)}.`;
  const members = Object.keys(schemas.IssueCardRequest.properties);
  const customerMembers = Object.keys(schemas.Customer.properties);
  const ignored = "has members that the service ignores";
  return [
    ...findUnknown(
      "unknown-fields",
      `fieldValues has keys that template ${id} does not have`,
      fieldValues,
      keys,
      rule,
    ),
    ...findUnknown("unknown-members", `The request ${ignored}`, request, members),
    ...findUnknown("unknown-members", `customer ${ignored}`, request.customer, customerMembers),
  ];
}

function findUnknown(
  type: RequestWarning["type"],
  what: string,
  value: object,
  known: string[],
  rule = "",
): RequestWarning[] {
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length === 0) return [];
  const names = listNames(unknown, (key) => {
    const meant = findNearestName(key, known);
    return meant === undefined ? "" : ` (did you mean "${toPrintable(meant)}"?)`;
  });
  return [createWarning(type, `${what}: ${names}.${rule}`, unknown)];
}

const maxNames = 10;

function createWarning(type: RequestWarning["type"], message: string, fields: string[]): RequestWarning {
  const names = fields.slice(0, maxNames).map((key) => toPrintable(key));
  return { type, message, ...(names.length > 0 && { fields: names }) };
}

/** `"name", "nmae" (did you mean "name"?) and 3 more`. @param getHint what is after a name. */
function listNames(names: readonly string[], getHint = (_name: string) => ""): string {
  const listed = names.slice(0, maxNames).map((name) => `"${toPrintable(name)}"${getHint(name)}`);
  const more = names.length - listed.length;
  return listed.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
