/** The results of a call, as a table: the real client meets each event in each state, without a network. */
import * as issuing from "../../packages/issuing-client/src/index.ts";
import {
  card,
  json,
  networkError,
  type Script,
  scripted,
  signUp,
  template,
} from "../../packages/issuing-client/test/scripted.ts";

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
const status = (code: number) => ({ name: String(code), response: () => problem(code) });
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
    response: () => new Response(null, { status: 307, headers: { location: "https://login.test/" } }),
  },
  ...[status(400), status(401), status(403), status(404), status(408), status(409), status(410)],
  ...[status(422), status(423), status(425), status(429), status(500), status(501), status(503)],
  { name: "connection refused", response: networkError("ECONNREFUSED") },
  { name: "connection lost before the response", response: networkError("ECONNRESET") },
  { name: "no response within `timeoutMs`", response: hang, options: { deadlineMs: longDeadlineMs } },
  { name: "no response within `deadlineMs`", response: hang, options: { deadlineMs: 5_000 } },
  { name: "your `signal` aborts", response: hang, isAborted: true },
  { name: "the first attempt was 24 hours ago", firstAttemptMsAgo: 24 * 3_600_000 },
];

/** The state of the key when the event happens: whether an earlier attempt with it may have been received. */
const states = ["new", "sent before"] as const;

/** The code of the error, if the call rejects with one; and the cells: outcome, retryable, client retries, what to do next. */
type Result = { code?: string; cells: string[] };

/** Runs one call of the real client. Pauses have no length, and the clock passes to the next timer by itself. */
async function run(event: Event, state: (typeof states)[number]): Promise<Result> {
  const { response, options, isAborted, firstAttemptMsAgo } = event;
  const before: Script[] = state === "new" ? [] : [networkError("ECONNRESET")];
  let sent = 0;
  const caller = new AbortController();
  const { client, clock } = scripted([], {
    fetch: async () => {
      const next = before[sent++] ?? response;
      if (isAborted && sent > before.length) queueMicrotask(() => caller.abort(new Error("left")));
      if (next === undefined) throw new Error(`${event.name}: the client sent a request.`);
      if (next instanceof Error) throw next;
      return typeof next === "function" ? next(new Request("https://cards.test")) : next;
    },
  });
  const earlier = firstAttemptMsAgo && { firstAttemptAt: clock.now() - firstAttemptMsAgo };
  const given = { userId: 1, signal: caller.signal, ...options, ...earlier };
  const call = client.issueCard(template.id, signUp, given);
  const end: unknown = await clock.run(call.catch((error: unknown) => error));
  const attempts = sent - before.length;
  // Three attempts are the default; only a conflict is repeated more often.
  const often = clock.monotonicMs() > 6_000 ? "until the deadline" : "for 5 seconds";
  const retried = attempts > 3 ? often : attempts > 1 ? "yes" : "no";
  const stored = "Store `card.id` with the user.";
  const aborted = "The call rejects with `signal.reason`. A card may exist: repeat the call later.";
  if (!issuing.isIssuingError(end))
    return { cells: ["–", "–", retried, end instanceof Error ? aborted : stored] };
  const { code, outcome, retryable } = end;
  return { code, cells: [`\`${outcome}\``, retryable ? "yes" : "no", retried, describeNext(end)] };
}

/** What the members of an error say to do, in one sentence. */
function describeNext({ code, outcome, retryable, cardId }: issuing.IssuingError): string {
  if (cardId !== undefined) return "The card exists: store `error.cardId`.";
  if (code === "validation") return "Show `userMessage`. Send the corrected form with a new `keySuffix`.";
  if (retryable) return "Repeat the call.";
  if (code === "idempotency-expired") return "Do not repeat. Find out whether a card exists.";
  return outcome === "unknown" ? "Correct the cause, then repeat the call." : "Correct the cause.";
}

/** The rows of the table. Events with the same results share rows, and so do states. */
async function createRows(): Promise<string[][]> {
  const groups = new Map<string, { names: string[]; rows: string[][] }>();
  for (const event of events) {
    const rows: string[][] = [];
    let name = event.name;
    for (const state of event.firstAttemptMsAgo === undefined ? states : [states[1]]) {
      const { code, cells } = await run(event, state);
      if (code !== undefined) name = `${event.name}: \`${code}\``;
      const [first] = rows;
      if (first !== undefined && first.slice(1).join() === cells.join()) first[0] = "any";
      else rows.push([state, ...cells]);
    }
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
