/** Compares the content of request bodies, responses and events: the media type, and the schema of the JSON. */
import { adoptedSchema } from "./adoption.ts";
import { getProperty, type Json, recordIn } from "./document.ts";
import type { Place } from "./drift-rules.ts";
import type { Comparison, SchemaComparison } from "./schema-drift.ts";
import type { Schema } from "./schema-form.ts";

/** Returns the content of the contract, with its schema updated. @param schema the service's schema of the JSON body */
export function compareContent(
  own: Json,
  served: Json,
  place: Place,
  { report }: Comparison,
  schemas: SchemaComparison,
  schema: unknown = jsonSchemaIn(served),
): Json {
  const content = recordIn(own, "content");
  const servedContent = recordIn(served, "content");
  const ownSchema = jsonSchemaIn(own);
  const types = Object.keys(servedContent);
  if (types.length === 0 || ownSchema === undefined) return content;
  // The client sends application/json, and reads every JSON without regard to its media type.
  if (!types.some(place.direction === "request" ? isPlainJson : isJson)) {
    const before = Object.keys(content).join(", ");
    const after = types.join(", ");
    if (before === after) return content;
    report("media-type-changed", place, `the media type changes from ${before} to ${after}`);
    return Object.fromEntries(
      Object.entries(servedContent).map(([type, media]) => [
        type,
        { schema: adoptedSchema(getProperty(media, "schema")) },
      ]),
    );
  }
  const next = schemas.schema(ownSchema as Schema, schema ?? {}, place);
  return Object.fromEntries(
    Object.entries(content).map(([type, media]) => [
      type,
      isJson(type) ? { ...(media as Json), schema: next } : media,
    ]),
  );
}

/** The schema of the JSON content of a request body, response or parameter. */
export function jsonSchemaIn(node: Json): unknown {
  const content = Object.entries(recordIn(node, "content"));
  const plain = content.find(([type]) => isPlainJson(type));
  return getProperty((plain ?? content.find(([type]) => isJson(type)))?.[1], "schema");
}

/** `application/json`, or a range that contains it. */
const isPlainJson = (mediaType: string) =>
  /^(application\/json|application\/\*|\*\/\*)$/i.test(withoutParameters(mediaType));

/** Any JSON media type, such as `application/problem+json`. */
const isJson = (mediaType: string) =>
  isPlainJson(mediaType) || /^application\/[^/]+\+json$/i.test(withoutParameters(mediaType));

const withoutParameters = (mediaType: string) => mediaType.split(";", 1).join("").trim();
