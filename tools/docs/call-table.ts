/**
 * The results of a call, as a table: the real client meets each event in each state, without a
 * network.
 */

import {
  card,
  json,
  networkError,
  type Script,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import * as issuing from "../../packages/issuing-client/src/index.ts";

interface Event {
  name: string;
  /** What the transport does. Absent when the client must not send anything. */
  response?: Script;
  options?: issuing.CallOptions;
  /** The caller aborts while the request is sent. */
  isAborted?: true;
  /** How long before the call the first attempt with this key was. */
  firstAttemptMsAgo?: number;
}

const problem = (status: number) => json({ type: "about:blank", title: "Problem", status }, status);
const hang = () => new Promise<Response>(() => {});
const statuses = [400, 401, 403, 404, 408, 409, 410, 422, 423, 425, 429, 500, 501, 503];
/** Longer than three attempts take, so that the last one ends by its own timeout. */
const longDeadlineMs = 120_000;

const events: readonly Event[] = [
  { name: "201 with the card", response: () => json(card, 201) },
  { name: "200 with the card", response: () => json(card) },
  {
    name: "201 with the card, one member of which is invalid",
    response: () => json({ ...card, publicUrl: null }, 201),
  },
  { name: "2xx without a card", response: () => json({}, 201) },
  { name: "2xx with HTML", response: () => new Response("<!doctype html><html></html>") },
  {
    name: "a redirect, such as 307",
    response: () =>
      new Response(null, { status: 307, headers: { location: "https://login.test/" } }),
  },
  ...statuses.map((status) => ({ name: String(status), response: () => problem(status) })),
  { name: "connection refused", response: networkError("ECONNREFUSED") },
  { name: "connection lost before the response", response: networkError("ECONNRESET") },
  {
    name: "no response within `timeoutMs`",
    response: hang,
    options: { deadlineMs: longDeadlineMs },
  },
  { name: "no response within `deadlineMs`", response: hang, options: { deadlineMs: 5_000 } },
  { name: "your `signal` aborts", response: hang, isAborted: true },
  { name: "the first attempt was 24 hours ago", firstAttemptMsAgo: 24 * 3_600_000 },
];

/**
 * The state of the key when the event happens: whether an earlier attempt with it may have been
 * received, in this call or before it. The last two have the same rows.
 */
const states = { new: "new", lost: "sent before", firstAttemptAt: "sent before" } as const;
type State = keyof typeof states;

interface Result {
  /** The code of the error, if the call rejects with one. */
  code?: string;
  /** Outcome, retryable, client retries, what to do next. */
  cells: string[];
}

/**
 * Runs one call of the real client. Pauses have no length, and the clock passes to the next timer
 * by itself.
 */
async function run(event: Event, state: State): Promise<Result> {
  const { options, firstAttemptMsAgo = state === "firstAttemptAt" ? 60_000 : undefined } = event;
  const before: Script[] = state === "lost" ? [networkError("ECONNRESET")] : [];
  let sent = 0;
  const caller = new AbortController();
  const { client, clock } = scripted([], {
    fetch: async () => {
      const next = before[sent++] ?? event.response;
      const isEvent = sent > before.length;
      if (event.isAborted && isEvent) queueMicrotask(() => caller.abort(new Error("left")));
      if (next === undefined) throw new Error(`${event.name}: the client sent a request.`);
      if (next instanceof Error) throw next;
      return typeof next === "function" ? next(new Request("https://cards.test")) : next;
    },
  });
  const earlier = firstAttemptMsAgo && { firstAttemptAt: clock.now() - firstAttemptMsAgo };
  const given = { userId: 1, signal: caller.signal, ...options, ...earlier };
  const call = client.issueCard(template.id, signUp, given);
  const end: unknown = await clock.run(call.catch((error: unknown) => error));
  const retried = describeRetries(sent - before.length, clock.monotonicMs());
  if (issuing.isIssuingError(end)) {
    const { code, outcome, retryable } = end;
    const cells = [`\`${outcome}\``, retryable ? "yes" : "no", retried, describeNext(end)];
    return { code, cells };
  }
  const next =
    end instanceof Error
      ? "The call rejects with `signal.reason`. A card may exist: repeat the call later."
      : "Store `card.id` with the user.";
  return { cells: ["–", "–", retried, next] };
}

/** Three attempts are the default; only a conflict is repeated more often. */
function describeRetries(attempts: number, elapsedMs: number): string {
  if (attempts <= 1) return "no";
  if (attempts <= 3) return "yes";
  return elapsedMs > 6_000 ? "until the deadline" : "for 5 seconds";
}

/** What the members of an error say to do, in one sentence. */
function describeNext({ code, outcome, retryable, cardId }: issuing.IssuingError): string {
  if (cardId !== undefined) return "The card exists: store `error.cardId`.";
  if (code === "validation")
    return "Show `userMessage`. Send the corrected form with a new `keySuffix`.";
  if (retryable) return "Repeat the call.";
  if (code === "idempotency-expired") return "Do not repeat. Find out whether a card exists.";
  return outcome === "unknown" ? "Correct the cause, then repeat the call." : "Correct the cause.";
}

/** The rows of one event. States with the same result share a row. */
async function createEventRows(event: Event): Promise<{ name: string; rows: string[][] }> {
  const rows: string[][] = [];
  let { name } = event;
  const all = Object.keys(states) as State[];
  const possible: State[] = event.firstAttemptMsAgo === undefined ? all : ["firstAttemptAt"];
  for (const state of possible) {
    const { code, cells } = await run(event, state);
    if (code !== undefined) name = `${event.name}: \`${code}\``;
    const same = rows.find((row) => row.slice(1).join() === cells.join());
    if (same === undefined) rows.push([states[state], ...cells]);
    else if (same[0] !== states[state]) same[0] = "any";
  }
  if (rows.length > 2) throw new Error(`${event.name}: "sent before" has more than one result.`);
  return { name, rows };
}

/** The rows of the table. Events with the same results share rows. */
async function createRows(): Promise<string[][]> {
  const groups = new Map<string, { names: string[]; rows: string[][] }>();
  for (const event of events) {
    const { name, rows } = await createEventRows(event);
    const group = groups.get(rows.join()) ?? { names: [], rows };
    group.names.push(name);
    groups.set(rows.join(), group);
  }
  return [...groups.values()].flatMap(({ names, rows }) =>
    rows.map((row, index) => [index === 0 ? names.join(" · ") : "the same", ...row]),
  );
}

/** The head of the table, and its rows. */
export const createCallTable = async () =>
  [
    ["event: `code`", "key", "`outcome`", "`retryable`", "client retries", "what to do next"],
    await createRows(),
  ] as const;
