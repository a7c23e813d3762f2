/** Compares how the client authenticates its requests (spec 5.1). */
import { isRecord, type Json, listIn, printable, recordIn } from "./document.ts";
import type { Comparison } from "./schema-drift.ts";
import type { ApiDocument } from "./schema-form.ts";

interface Authentication {
  security: unknown;
  /** The security schemes by name. */
  schemes: Json;
}

/** @returns the requirement and the schemes of the service when the client cannot meet them. */
export function compareAuthentication(
  own: Json,
  served: Json,
  operation: string,
  comparison: Comparison,
): Authentication | undefined {
  const before = getAuthentications(comparison.contract, own);
  const after = getAuthentications(comparison.served, served);
  // A requirement without a scheme, or none at all: the operation needs no authentication, or does not describe it.
  if (after.length === 0 || after.some(({ text }) => text === "")) return undefined;
  const isAccepted = after.some(({ text }) => before.some((one) => one.text === text));
  // Schemes are compared by name too: a change of the Website key counts, even when the Full key is sent as before.
  const isRedefined = after.some(({ name, text }) =>
    before.some((one) => one.name === name && one.text !== text),
  );
  if (isAccepted && !isRedefined) return undefined;
  const toText = (all: readonly { text: string }[]) => [...new Set(all.map(({ text }) => text))].join(" or ");
  comparison.report(
    "authentication-changed",
    { operation, direction: "request", path: operation },
    `authentication changes from ${toText(before)} to ${toText(after)}`,
  );
  const names = new Set(after.flatMap(({ schemes }) => schemes));
  const all = getSchemes(comparison.served);
  return {
    security: served["security"] ?? comparison.served.root["security"],
    schemes: Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name))),
  };
}

const getSchemes = ({ root }: ApiDocument) => recordIn(recordIn(root, "components"), "securitySchemes");

/** The alternative ways to authenticate an operation; empty when the document does not describe any. */
function getAuthentications(document: ApiDocument, operation: Json) {
  const schemes = getSchemes(document);
  const requirements = Array.isArray(operation["security"])
    ? operation["security"]
    : listIn(document.root, "security");
  return requirements.filter(isRecord).map((requirement) => {
    const names = Object.keys(requirement);
    const texts = names.map((name) => formatScheme(name, document.resolved(recordIn(schemes, name))));
    return { name: names.join(" with "), schemes: names, text: texts.join(" with ") };
  });
}

function formatScheme(name: string, { type, scheme, in: place, name: parameter }: Json): string {
  const isBearer =
    (type === "http" && String(scheme).toLowerCase() === "bearer") ||
    (type === "apiKey" && place === "header" && String(parameter).toLowerCase() === "authorization");
  if (isBearer) return "Authorization: Bearer";
  if (type === undefined) return `${printable(name)}, which the document does not define`;
  return type === "apiKey" ? `an API key in the ${place} ${parameter}` : `${type} ${scheme ?? ""}`.trim();
}
