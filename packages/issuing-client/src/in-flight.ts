/** Lets calls with the same key share one request while it is under way. */
import type { ResponseMeta } from "./call.ts";
import { type Clock, within } from "./clock.ts";

export interface Caller {
  key: string;
  /** The template and the body: the same key with other content is a mistake. */
  content: readonly [templateId: string, body: string];
  signal: AbortSignal | undefined;
  /** How long this caller waits for a request that another one began. */
  deadlineMs: number;
  onResponse: ((meta: ResponseMeta) => void) | undefined;
}

/** @param callers who waits for the result; they may become more. */
type Start<Result> = (signal: AbortSignal | undefined, callers: Iterable<Caller>) => Promise<Result>;

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

  /** Until the result is there, or the caller leaves. */
  function wait(shared: Shared<Result>, caller: Caller, ms: number): Promise<Result> {
    const { key, signal } = caller;
    const { callers, result, stop } = shared;
    callers.add(caller);
    if (signal === undefined && ms === Number.POSITIVE_INFINITY) return result;
    return within({ clock, ms, signal }, result, (reason) => {
      callers.delete(caller);
      if (callers.size > 0) return;
      forget(key, shared);
      stop?.abort(reason);
    });
  }

  function begin({ key, content, signal }: Caller, start: Start<Result>): Shared<Result> {
    const callers = new Set<Caller>();
    // Who cannot leave needs no way to stop the request.
    const stop = signal === undefined ? undefined : new AbortController();
    const shared: Shared<Result> = { content, result: start(stop?.signal, callers), callers, stop };
    underWay.set(key, shared);
    const end = () => forget(key, shared);
    shared.result.then(end, end);
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
