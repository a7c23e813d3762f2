/** Example events of every type, for `trigger`. */
import { eventExamples } from "@loyalty-cards/openapi/event-examples";

export const secretVariable = "LOYALTY_SIGNING_SECRET";

export const knownTypes = Object.keys(eventExamples) as (keyof typeof eventExamples)[];

/** The example of the OpenAPI document, now and for a card. The data of an unknown type is `{}`. */
export function createExample(type: string, id: string, cardId: string) {
  const example: { data?: unknown } =
    Object.entries(eventExamples).find(([known]) => known === type)?.[1] ?? {};
  const data = structuredClone(example.data ?? {}) as Record<string, unknown>;
  if ("passId" in data) data["passId"] = cardId;
  if ("passIds" in data) data["passIds"] = [cardId];
  if (data["operation"]) Object.assign(data["operation"], { id: id.replace(/^evt/, "op") });
  return { id, type, createdAt: new Date().toISOString(), data };
}
