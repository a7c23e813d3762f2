/** Example events of every type, for `trigger`. */
import { eventExamples } from "@loyalty-cards/openapi/event-examples";

export type KnownType = keyof typeof eventExamples;
export const knownTypes = Object.keys(eventExamples) as KnownType[];

/** Creates the example of the OpenAPI document, with the current time and for a card. */
export function createExample(type: KnownType, id: string, cardId: string) {
  const example: { data?: unknown } = eventExamples[type];
  const data = structuredClone(example.data ?? {}) as Record<string, unknown>;
  if ("passId" in data) data["passId"] = cardId;
  if ("passIds" in data) data["passIds"] = [cardId];
  if (data["operation"]) Object.assign(data["operation"], { id: id.replace(/^evt/, "op") });
  return { id, type, createdAt: new Date().toISOString(), data };
}
