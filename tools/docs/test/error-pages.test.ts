/** The error pages: one for each code and reason, and what they say about an error is true of a real one. */
import { readdirSync } from "node:fs";
import {
  createIssuingClient,
  defineTemplate,
  type IssueCardOptions,
  type IssuingClientOptions,
  type IssuingError,
  type IssuingErrorCode,
} from "@loyalty-cards/issuing-client";
import type { FaultInput } from "@loyalty-cards/mock-server";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import {
  createReceiver,
  type Receiver,
  type ReceiverOptions,
  type ReceiverOutcome,
  signWebhookSync,
} from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import { readFromRoot } from "../snippets.ts";

type WebhookReason = Extract<ReceiverOutcome, { reason: unknown }>["reason"];

const readPage = (name: string) => readFromRoot(`docs/errors/${name}.md`);
const address = (name: string) => `https://loyalty-cards.github.io/loyalty-cards/errors/${name}`;

/** The first two cells of each row of the table: `outcome retryable` or `outcome status`. */
const readFacts = (page: string) =>
  [...page.matchAll(/^\| `([\w-]+)` \| `?(true|false|\d+)`? \|/gm)].map(
    ([, first, second]) => `${first} ${second}`,
  );

// ---- client

const customer = { consents: { privacy: { version: "1" } } };

async function openService(faults: readonly FaultInput[] = []) {
  const { url, service, close } = await startMockServer();
  onTestFinished(close);
  for (const fault of faults) service.faults.add(fault);
  const options = { baseUrl: url, apiKey: service.apiKeys.website, maxRetries: 0 };
  const issue = (
    changes: Partial<IssuingClientOptions> = {},
    template = service.templateId,
    call: Pick<IssueCardOptions, "firstAttemptAt"> = {},
  ) =>
    createIssuingClient({ ...options, ...changes }).issueCard(template, { customer }, { userId: 1, ...call });
  return { service, options, issue };
}

const before = (fault: object): FaultInput => ({ phase: "before", ...fault }) as FaultInput;
const status = (code: number) => async () =>
  (await openService([before({ kind: "status", status: code })])).issue();
const withOptions =
  (changes: Partial<IssuingClientOptions>, ...faults: FaultInput[]) =>
  async () =>
    (await openService(faults)).issue(changes);
const hang = before({ kind: "hang" });

/** Calls that fail with the code. Together they have every outcome that its page lists. */
const failures: Record<IssuingErrorCode, readonly (() => Promise<unknown>)[]> = {
  configuration: [async () => (await openService()).issue({}, "")],
  validation: [
    async () => {
      const { options, service } = await openService();
      const request = { customer: { ...customer, phone: "12" } };
      return createIssuingClient(options).issueCard(service.templateId, request, { userId: 1 });
    },
    async () => {
      const { options } = await openService();
      const validate = () => ({ issues: [{ message: "missing", path: ["name"] }] });
      const template = defineTemplate<{ name: string }>("tpl", {
        "~standard": { version: 1, vendor: "test", validate },
      });
      return createIssuingClient(options).issueCard(
        template,
        { fieldValues: { name: "" }, customer },
        { userId: 1 },
      );
    },
  ],
  "not-found": [async () => (await openService()).issue({}, "tpl_typo")],
  unauthorized: [withOptions({ apiKey: "wrong" })],
  forbidden: [status(403)],
  conflict: [
    status(409),
    status(423),
    async () => {
      const { issue } = await openService([before({ kind: "status", status: 409 })]);
      return issue({}, undefined, { firstAttemptAt: Date.now() - 1_000 });
    },
  ],
  "rate-limited": [status(429)],
  rejected: [status(400), status(425), status(408)],
  server: [status(503)],
  network: [withOptions({ baseUrl: "http://127.0.0.1:1" }), withOptions({}, before({ kind: "reset" }))],
  timeout: [withOptions({ timeoutMs: 50 }, hang)],
  deadline: [
    withOptions({ deadlineMs: 50, apiKey: () => new Promise(() => {}) }),
    withOptions({ deadlineMs: 50 }, hang),
    async () => {
      // Two calls share a request that waits after a 429; the deadline of one passes meanwhile.
      const { options, service } = await openService([
        before({ kind: "status", status: 429, retryAfterSeconds: 2, times: 1 }),
      ]);
      const client = createIssuingClient({ ...options, maxRetries: 1 });
      const call = (deadlineMs: number) =>
        client.issueCard(service.templateId, { customer }, { userId: 1, deadlineMs });
      const [failed] = await Promise.allSettled([call(1_500), call(10_000)]);
      if (failed.status === "rejected") throw failed.reason;
    },
  ],
  "invalid-response": [
    withOptions({}, before({ kind: "html", status: 200 })),
    withOptions({ fetch: async () => Response.json({ card: "?" }) }),
    withOptions({ fetch: async () => new Response(null, { status: 302, headers: { location: "/" } }) }),
  ],
  "idempotency-mismatch": [
    async () => {
      const { options, service } = await openService();
      const client = createIssuingClient(options);
      const call = (name: string) =>
        client.issueCard(service.templateId, { customer: { ...customer, name } }, { userId: 1 });
      await Promise.all([call("Anna"), call("Ben")]);
    },
  ],
  "idempotency-expired": [
    async () => {
      const call = { userId: 1, firstAttemptAt: Date.now() - 25 * 3_600_000 };
      return (await openService()).issue({}, "tpl", call);
    },
  ],
};

const catchError = (promise: Promise<unknown>): Promise<IssuingError> =>
  promise.then(
    () => expect.unreachable("the call succeeded"),
    (error) => error,
  );

describe.each(Object.entries(failures))("the page of the code %s", (code, calls) => {
  it("lists the outcomes of real errors, whose messages end with its address", async () => {
    const errors = await Promise.all(calls.map((call) => catchError(call())));
    for (const error of errors) {
      expect(error.code).toBe(code);
      expect(error.message).toMatch(new RegExp(`\\S See ${address(code)}$`));
      expect(error.userMessage).not.toContain("https:");
    }
    const facts = new Set(errors.map(({ outcome, retryable }) => `${outcome} ${retryable}`));
    expect(readFacts(readPage(code)).sort()).toEqual([...facts].sort());
  });
});

it("the outcome is unknown when an earlier attempt has no known result, as the index says", async () => {
  const { issue } = await openService([
    before({ kind: "status", status: 503, retryAfterSeconds: 0, times: 1 }),
    before({ kind: "status", status: 403 }),
  ]);
  expect(await catchError(issue({ maxRetries: 1 }))).toMatchObject({ code: "forbidden", outcome: "unknown" });
});

// ---- webhooks

const secret = "whsec_1";
const event = JSON.stringify({ id: "evt_1", type: "ping", createdAt: "2027-01-15T08:00:00.000Z" });

/** A signed delivery. */
function deliver(
  rawBody: Parameters<Receiver>[0]["rawBody"] = event,
  skewSeconds = 0,
  headers = {},
): Parameters<Receiver>[0] {
  const text = typeof rawBody === "string" ? rawBody : event;
  const timestamp = Math.floor(Date.now() / 1_000) - skewSeconds;
  const signature = signWebhookSync({ rawBody: text, secret, timestamp });
  return { method: "POST", headers: { "service-signature": signature, ...headers }, rawBody };
}
const never = () => new Promise<never>(() => {});
const fail = () => Promise.reject(new Error("down"));
/** Valid when the receiver is created, and invalid for each delivery. */
function createFailingClock() {
  let calls = 0;
  return () => (calls++ === 0 ? Date.now() : Number.NaN);
}

/** Deliveries with the reason, and the options of their receiver. */
const rejections: Record<
  WebhookReason,
  readonly (() => [Parameters<Receiver>[0], Partial<ReceiverOptions>?])[]
> = {
  "missing-signature": [() => [{ method: "POST", headers: {}, rawBody: event }]],
  "malformed-signature": [
    () => [{ method: "POST", headers: { "service-signature": "sha256=00" }, rawBody: event }],
  ],
  stale: [() => [deliver(event, 400)]],
  future: [() => [deliver(event, -400)]],
  mismatch: [() => [deliver(), { secret: "whsec_2" }]],
  "invalid-payload": [() => [deliver("[]")]],
  "too-large": [() => [deliver(event), { maxBodyBytes: 10 }]],
  unreadable: [
    () => [
      deliver(async () => {
        const { collectBody } = await import("../../../packages/webhook-verify/src/body.ts");
        const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("closed")) });
        return collectBody(broken, { maxBodyBytes: 1_000 });
      }),
    ],
  ],
  "method-not-allowed": [() => [{ ...deliver(), method: "GET" }]],
  "unsupported-encoding": [() => [deliver(event, 0, { "content-encoding": "gzip" })]],
  timeout: [() => [deliver(never), { timeoutMs: 30 }], () => [deliver(), { timeoutMs: 30, handler: never }]],
  "already-consumed": [() => [deliver(async () => ({ id: "evt_1" }) as never)]],
  "invalid-clock": [() => [deliver(), { now: createFailingClock() }]],
  "no-secret": [() => [deliver(), { secret: fail }]],
  "secret-timeout": [() => [deliver(), { secret: never, timeoutMs: 30 }]],
  "handler-error": [() => [deliver(), { handler: fail }]],
};

describe.each(Object.entries(rejections))("the page of the webhook reason %s", (reason, deliveries) => {
  const page = readPage(`webhook-${reason}`);

  it("lists the outcome and the response of real deliveries", async () => {
    const facts: string[] = [];
    for (const prepare of deliveries) {
      const [request, options] = prepare();
      const outcomes: ReceiverOutcome[] = [];
      const onOutcome = (outcome: ReceiverOutcome) => void outcomes.push(outcome);
      await createReceiver({ secret, log: () => {}, onOutcome, ...options })(request);
      expect(outcomes).toMatchObject([{ reason }]);
      for (const { outcome, status } of outcomes) facts.push(`${outcome} ${status}`);
    }
    expect(readFacts(page)).toEqual(facts);
    const [, responses] =
      new RegExp(`^\\| \\[${reason}\\].* \\| ([\\d, ]+) \\|`, "m").exec(readPage("README")) ?? [];
    expect(responses).toBe(facts.map((fact) => fact.split(" ")[1]).join(", "));
  });

  it("has the address in the log line, and the response has none", async () => {
    for (const prepare of deliveries) {
      const [request, options] = prepare();
      const lines: string[] = [];
      const log = (line: string) => void lines.push(line);
      const response = await createReceiver({ secret, log, ...options })(request);
      expect(lines).toEqual([expect.stringMatching(new RegExp(` See ${address(`webhook-${reason}`)}$`))]);
      expect(JSON.stringify(response)).not.toContain("loyalty-cards.github.io");
    }
  });
});

// ---- pages

/** The heading of each page, by its name. */
const headings = new Map([
  ...Object.keys(failures).map((code) => [code, code] as const),
  ...Object.keys(rejections).map((reason) => [`webhook-${reason}`, `Webhook: ${reason}`] as const),
]);

it("there is a page for each code and reason, and no other one; the index lists all of them", () => {
  const files = readdirSync(new URL("../../../docs/errors", import.meta.url));
  expect(files.sort()).toEqual([...headings.keys(), "README"].map((name) => `${name}.md`).sort());
  const listed = [...readPage("README").matchAll(/^\| \[[\w-]+\]\(([\w-]+)\.md\)/gm)].map(([, name]) => name);
  expect(listed.sort()).toEqual([...headings.keys()].sort());
});

it("the codes in the table of docs/guides/sign-up.md exist", () => {
  const [, table = ""] = /^\| `code` .*\n((?:\|.*\n)+)/m.exec(readFromRoot("docs/guides/sign-up.md")) ?? [];
  const cells = table.split("\n").map((row) => row.split(" | ")[0] ?? "");
  const codes = cells.flatMap((cell) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, code = ""]) => code));
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter((code) => !(code in failures))).toEqual([]);
});

it.each([...headings])("the page %s has a title, a message and the four sections", (name, title) => {
  const page = readPage(name);
  const subject = name.startsWith("webhook-") ? "delivery" : "card";
  expect([...page.matchAll(/^#+ .*$/gm)].map(([heading]) => heading)).toEqual([
    `# ${title}`,
    `## What happened to the ${subject}`,
    "## Causes",
    "## Fix",
    "## Related",
  ]);
  expect(page).toContain("```text\n");
});
