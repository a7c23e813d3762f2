/** Lets calls with the same key share one request while it is under way. */
import type { ResponseMeta } from "./call.ts";
import { type Clock, within } from "./clock.ts";
import { tell } from "./listener.ts";

export interface Caller {
  key: string;
  /** The template and the body: the same key with other content is a mistake. */
  content: readonly [templateId: string, body: string];
  signal: AbortSignal | undefined;
  /** How long this caller waits for a request that another one began. */
  deadlineMs: number;
  onResponse: ((meta: ResponseMeta) => void) | undefined;
}

type Start<Result> = (
  signal: AbortSignal | undefined,
  onResponse: (meta: ResponseMeta) => void,
) => Promise<Result>;

/** A request that several callers wait for. It is stopped only when the last of them has left. */
interface Shared<Result> {
  content: Caller["content"];
  result: Promise<Result>;
  callers: Set<Caller>;
  stop: AbortController | undefined;
}

/**
 * Joins the request under the caller's key, or starts one. Undefined when one that asks for something else is under way.
 * @throws {TimeUp} for a caller who joined and whose deadline came first, and the caller's `signal.reason`.
 */
export type Share<Result> = (caller: Caller, start: Start<Result>) => Promise<Result> | undefined;

export function inFlight<Result>(clock: Clock): Share<Result> {
  const underWay = new Map<string, Shared<Result>>();

  function forget(key: string, shared: Shared<Result>): void {
    if (underWay.get(key) === shared) underWay.delete(key);
  }

  async function wait(shared: Shared<Result>, caller: Caller, ms: number): Promise<Result> {
    const { key, signal } = caller;
    shared.callers.add(caller);
    try {
      const canLeave = signal !== undefined || ms !== Number.POSITIVE_INFINITY;
      return await (canLeave ? within({ clock, ms, signal }, shared.result) : shared.result);
    } finally {
      shared.callers.delete(caller);
      if (shared.callers.size === 0) {
        forget(key, shared);
        shared.stop?.abort(signal?.reason);
      }
    }
  }

  function begin({ key, content, signal }: Caller, start: Start<Result>): Shared<Result> {
    const callers = new Set<Caller>();
    // Who cannot leave needs no way to stop the request.
    const stop = signal === undefined ? undefined : new AbortController();
    const result = start(stop?.signal, (meta) => {
      for (const { onResponse } of callers) tell(onResponse, meta);
    });
    const shared: Shared<Result> = { content, result, callers, stop };
    underWay.set(key, shared);
    const end = () => forget(key, shared);
    result.then(end, end);
    return shared;
  }

  return (caller, start) => {
    const known = underWay.get(caller.key);
    // Whoever began it has given it a deadline of its own.
    if (known === undefined) return wait(begin(caller, start), caller, Number.POSITIVE_INFINITY);
    if (!isSame(known.content, caller.content)) return undefined;
    return wait(known, caller, caller.deadlineMs).then((result) => structuredClone(result));
  };
}

/** The same JSON may be written in another order. */
function isSame([template, body]: Caller["content"], [otherTemplate, otherBody]: Caller["content"]): boolean {
  return template === otherTemplate && (body === otherBody || inOrder(body) === inOrder(otherBody));
}

function inOrder(json: string): string {
  return JSON.stringify(JSON.parse(json), (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
