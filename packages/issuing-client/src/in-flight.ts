/** Lets calls with the same key share one request while it is under way. */
import type { Running } from "./exchange.ts";

/** The template and the body: the same key with other content is a mistake. */
type Content = readonly [templateId: string, body: string];

/** Gives the request under way with the caller's key, or starts one. Undefined when one that asks for something else is under way. */
export type Share<Value> = (
  key: string,
  content: Content,
  start: () => Running<Value>,
) => Running<Value> | undefined;

export function inFlight<Value>(): Share<Value> {
  const underWay = new Map<string, { content: Content; running: Running<Value> }>();

  return (key, content, start) => {
    const known = underWay.get(key);
    if (known !== undefined && !known.running.isStopped()) {
      return isSame(known.content, content) ? known.running : undefined;
    }
    const shared = { content, running: start() };
    underWay.set(key, shared);
    shared.running.ended.then(() => {
      if (underWay.get(key) === shared) underWay.delete(key);
    });
    return shared.running;
  };
}

/** The same JSON may be written in another order. */
function isSame([template, body]: Content, [otherTemplate, otherBody]: Content): boolean {
  return template === otherTemplate && (body === otherBody || inOrder(body) === inOrder(otherBody));
}

function inOrder(json: string): string {
  return JSON.stringify(JSON.parse(json), (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
