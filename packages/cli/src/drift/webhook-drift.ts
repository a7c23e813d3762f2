/** Compares the events of a served document with those of the contract: their bodies, and the headers of a delivery. */
import { getProperty, isRecord, type Json, listIn, nameIn, recordIn } from "./document.ts";
import type { Place } from "./drift-rules.ts";
import { compareContent, jsonSchemaIn } from "./media-drift.ts";
import { mapOperations, noteOthers } from "./operation-matches.ts";
import { compareParameters } from "./parameter-drift.ts";
import type { Comparison, SchemaComparison } from "./schema-drift.ts";
import { getValues, isDocumentation } from "./schema-form.ts";

/** The delivery of an event in the served document. */
interface ServedEvent {
  type: string;
  body: Json;
  schema: unknown;
  headers: readonly Json[];
}

/** @returns the webhooks of the contract, changed only where the service differs. */
export function compareWebhooks(comparison: Comparison, schemas: SchemaComparison, notes: string[]): Json {
  const { contract, served, report } = comparison;
  const own = recordIn(contract.root, "webhooks");
  const items = { ...recordIn(served.root, "x-webhooks"), ...recordIn(served.root, "webhooks") };
  if (Object.keys(items).length === 0) {
    notes.push("The served document describes no webhooks; the contract keeps its own.");
    return own;
  }
  const events = Object.entries(items).flatMap(([key, item]) =>
    eventsIn(comparison, key, served.resolved(item), own),
  );
  const byType = new Map(events.map((event) => [event.type, event]));
  notes.push(
    ...noteOthers(
      "event",
      [...byType.keys()].filter((type) => !Object.hasOwn(own, type)),
    ),
  );
  const describesHeaders = events.some(({ headers }) => headers.length > 0);
  if (!describesHeaders) {
    notes.push("The served document describes no headers of webhooks; the contract keeps its own.");
  }
  return mapOperations(own, (operation, type) => {
    const place: Place = { operation: type, direction: "response", path: type };
    const event = byType.get(type);
    if (event === undefined) {
      report("event-removed", place, "the event is removed");
      return undefined;
    }
    const { headers, body, schema } = event;
    const parameters = describesHeaders
      ? compareParameters(operation, { parameters: headers }, place, comparison, schemas)
      : listIn(operation, "parameters");
    const ownBody = recordIn(operation, "requestBody");
    const content = compareContent(ownBody, body, place, comparison, schemas, schema);
    const signed = (parameters as Json[]).map((node) =>
      compareSignature(node, headers, place, comparison, schemas),
    );
    return { ...operation, parameters: signed, requestBody: { ...ownBody, content } };
  });
}

/** The events of one item of `webhooks`. */
function eventsIn(comparison: Comparison, key: string, item: Json, own: Json): ServedEvent[] {
  const { served } = comparison;
  const operation = recordIn(item, "post");
  const body = served.resolved(operation["requestBody"]);
  if (Object.keys(body).length === 0) return [];
  const parameters = [...listIn(item, "parameters"), ...listIn(operation, "parameters")]
    .map((parameter) => served.resolved(parameter))
    .filter((parameter) => parameter["in"] === "header");
  const headers = [...parameters, ...securityHeaders(comparison, operation)];
  const alternatives = eventSchemas(comparison, jsonSchemaIn(body));
  const [only, ...others] = alternatives;
  const isNamed = Object.hasOwn(own, key) || only === undefined;
  if (others.length === 0 && isNamed) return [{ type: key, body, schema: jsonSchemaIn(body), headers }];
  return alternatives.map(({ type, schema }) => ({ type, schema, body, headers }));
}

/** The headers of a delivery that the `security` of its webhook requires. */
function securityHeaders({ served }: Comparison, operation: Json): Json[] {
  const schemes = recordIn(recordIn(served.root, "components"), "securitySchemes");
  return listIn(operation, "security")
    .flatMap((requirement) => Object.keys(isRecord(requirement) ? requirement : {}))
    .map((name) => served.resolved(recordIn(schemes, name)))
    .filter(({ type, in: place }) => type !== "apiKey" || place === "header")
    .map(({ name = "Authorization" }) => ({
      name,
      in: "header",
      required: true,
      schema: { type: "string" },
    }));
}

/**
 * The events that the schema of a body describes: one for each value of `type`, and for each alternative of `oneOf` or `anyOf` or
 * target of the discriminator.
 *
 * @param mapped the values of `type` that the discriminator maps to this schema
 */
function eventSchemas(
  comparison: Comparison,
  schema: unknown,
  mapped: readonly string[] = [],
): { type: string; schema: unknown }[] {
  const { served, work } = comparison;
  const { oneOf, anyOf, discriminator, ...rest } = served.flattened(schema);
  const mapping = Object.entries(recordIn(discriminator, "mapping")).map(([type, target]) => ({
    type,
    reference: String(target).startsWith("#") ? String(target) : `#/components/schemas/${target}`,
  }));
  const alternatives = [oneOf ?? [], anyOf ?? []].flat();
  // Schemas that extend this one, and name it in their own allOf.
  if (alternatives.length === 0 && mapped.length === 0) {
    const references = new Set(mapping.map(({ reference }) => reference));
    for (const reference of references) alternatives.push({ $ref: reference });
  }
  if (alternatives.length === 0) {
    const values = getValues(served.flattened(recordIn(rest, "properties")["type"])) ?? [];
    const types = mapped.length > 0 ? mapped : values.filter((value) => typeof value === "string");
    return types.map((type) => ({ type, schema }));
  }
  const isMore = Object.keys(rest).some((key) => !isDocumentation(key));
  return alternatives.flatMap((part) => {
    const reference = getProperty(part, "$ref");
    const types = mapping.filter((target) => target.reference === reference).map(({ type }) => type);
    const whole = isMore ? { allOf: [rest, part] } : part;
    const found = work.nested(() => eventSchemas(comparison, whole, types));
    // Without a mapping, the discriminator has the name of the schema.
    if (found.length > 0 || typeof reference !== "string") return found;
    return [{ type: nameIn(reference), schema: whole }];
  });
}

/**
 * Compares the label of the signature scheme, `v1` ([spec 9](https://loyalty-cards.github.io/loyalty-cards/specification#spec-9)), which an example or a
 * pattern of the header shows.
 */
function compareSignature(
  own: Json,
  headers: readonly Json[],
  place: Place,
  { contract, report }: Comparison,
  schemas: SchemaComparison,
): Json {
  const parameter = contract.resolved(own);
  const name = String(parameter["name"]);
  const header = headers.find((one) => String(one["name"]).toLowerCase() === name.toLowerCase());
  const [label] = samplesIn(parameter).flatMap((text) => /v\d+(?==)/.exec(text)?.[0] ?? []);
  if (name !== "Service-Signature" || label === undefined || header === undefined) return own;
  const samples = samplesIn(header);
  const [sample] = samples;
  if (sample === undefined || samples.some((text) => text.includes(label))) return own;
  report("signature-changed", place, `${name} has no ${label}=…, but is like ${sample}`);
  if (getProperty(header["schema"], "pattern") !== undefined) return own; // the new pattern is already in the contract, with the schema
  return schemas.component("parameters", own, place, (component) => ({ ...component, example: sample }));
}

/** The patterns and examples of a header. */
function samplesIn(header: Json): string[] {
  const schema = recordIn(header, "schema");
  return [
    ...["pattern", "const", "example"].map((name) => getProperty(schema, name)),
    getProperty(header, "example"),
    ...listIn(schema, "examples"),
    ...Object.values(recordIn(header, "examples")).map((example) => getProperty(example, "value")),
  ].filter((text) => typeof text === "string");
}
