/**
 * Job ids are valid in every queue, the same for every duplicate, and never the same for two
 * events. Stored events keep the body as it arrived. `inboxHandler` reads them, ends attempts that
 * hang, and reports which failure of a job is the last one.
 */
import { expect, it, onTestFinished, vi } from "vitest";
import { inboxHandler } from "../src/index.ts";
import { toUuid } from "../src/pg-boss.ts";
import {
  formatStoredEvent,
  parseJobData,
  parseStoredEvent,
  toEventKey,
  toJobData,
  toJobId,
} from "../src/stored-event.ts";
import { balanceChanged, recordOutcomes } from "./inboxes.ts";

it("derives a UUID of version 5 from an event id", () => {
  const uuid = toUuid("evt_123");
  expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(toUuid("evt_123")).toBe(uuid);
  expect(toUuid("evt_124")).not.toBe(uuid);
  // Computed by another program. It must not change, or stored events would no longer be recognized
  // as duplicates.
  expect(uuid).toBe("486fbc98-1e6e-5f6c-84d6-2965f3bd3de5");
});

it.each([
  ["evt_123", "event-evt_123"],
  ["123", "event-123"],
  ["a:b/c d", "event-a%3Ab%2Fc%20d"],
  ["é", "event-%C3%A9"],
  ["\uD800", "event-%EF%BF%BD"],
])("derives a job id without separators from %o", (id, jobId) => {
  expect(toJobId(id)).toBe(jobId);
});

it("identifies an event of another source as another event, and one of no source by its id", () => {
  const keys = [
    toEventKey({ id: "evt_1" }, ""),
    toEventKey({ id: "evt_1" }, "coffee"),
    toEventKey({ id: "evt_1" }, "tea"),
  ];
  expect(keys[0]).toBe("evt_1");
  expect(new Set(keys.map(toJobId)).size).toBe(3);
});

it("stores the body character for character after the time of receipt, and parses it once", () => {
  const body = '\ufeff{"id": "é",\r\n"type": "\\n", "n": 1.0}\n';
  const text = formatStoredEvent(new TextEncoder().encode(body), new Date(0));
  expect(text).toBe(`1970-01-01T00:00:00.000Z\n${body}`);
  const event = { id: "é", type: "\n", n: 1 };
  expect(parseStoredEvent(text)).toEqual({ event, body, receivedAt: new Date(0) });
  const damaged = [undefined, "", "text", text.slice(0, 40), text.slice(1), `${text[0]}\nnull`];
  for (const other of damaged) expect(parseStoredEvent(other)).toBeUndefined();
  expect(() => formatStoredEvent(new Uint8Array([0xff]), new Date(0))).toThrow(TypeError);
});

it("preserves body and time, and rejects jobs that no inbox added", () => {
  const data = toJobData(new TextEncoder().encode('{"é": 1.0}'), new Date(0), "");
  expect(parseJobData(JSON.parse(JSON.stringify(data)))).toEqual({
    event: { é: 1 },
    body: '{"é": 1.0}',
    receivedAt: new Date(0),
    source: "",
  });
  expect(data).not.toHaveProperty("source");
  expect(parseJobData(toJobData(new TextEncoder().encode("{}"), new Date(0), "tea")).source).toBe(
    "tea",
  );
  for (const other of [undefined, null, {}, { body: 1, receivedAt: "" }, "text"])
    expect(() => parseJobData(other)).toThrow("This job was not added by an inbox");
  expect(() => toJobData(new Uint8Array([0xff]), new Date(0), "")).toThrow(TypeError);
});

const unrecoverable = Object.assign(new Error("never"), { name: "UnrecoverableError" });
const failure = new Error("not now");

const data = { body: JSON.stringify(balanceChanged("evt_1")), receivedAt: "2026-01-01" };
const ofPgBoss = { ...data, retryLimit: 2 };

it.each([
  [
    "BullMQ, with attempts left",
    { data, attemptsMade: 0, opts: { attempts: 2 } },
    failure,
    "failed",
  ],
  ["BullMQ, the last attempt", { data, attemptsMade: 1, opts: { attempts: 2 } }, failure, "dead"],
  ["BullMQ, without attempts", { data, attemptsMade: 0 }, failure, "dead"],
  [
    "BullMQ, an UnrecoverableError",
    { data, attemptsMade: 0, opts: { attempts: 2 } },
    unrecoverable,
    "dead",
  ],
  ["pg-boss, with attempts left", { data: ofPgBoss, retryCount: 1 }, failure, "failed"],
  ["pg-boss, the last attempt", { data: ofPgBoss, retryCount: 2 }, failure, "dead"],
  [
    "pg-boss with metadata, which has another limit",
    { data: ofPgBoss, retryCount: 2, retryLimit: 3 },
    failure,
    "failed",
  ],
  ["pg-boss 11 without metadata", { data: ofPgBoss }, failure, "failed"],
  ["pg-boss, an UnrecoverableError", { data: ofPgBoss, retryCount: 1 }, unrecoverable, "failed"],
])(
  "inboxHandler reports whether a failure is the last one, by what the worker knows: %s",
  async (_queue, job, error, outcome) => {
    const { recorded, onOutcome } = recordOutcomes();
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const handle = inboxHandler(() => Promise.reject(error), { onOutcome, log });
    await expect(handle(job)).rejects.toBe(error);
    expect(recorded).toMatchObject([{ outcome, error }]);
    // Only what the queue reports is said.
    const isCounted = "attemptsMade" in job || "retryCount" in job;
    expect("attempt" in (recorded[0] ?? {})).toBe(isCounted);
    expect(/ attempt \d/.test(String(lines))).toBe(isCounted);
  },
);

const quiet = { log: () => {} };
const ended = {
  message: expect.stringContaining("The attempt was ended: the handler took longer"),
};

// G28
it.each(["pg-boss 12, in the job", "BullMQ, as the third argument"])(
  "inboxHandler ends an attempt whose handler hangs when the signal of the queue aborts: %s",
  async (queue) => {
    const { recorded, onOutcome } = recordOutcomes();
    const handle = inboxHandler(() => new Promise(() => {}), { onOutcome, ...quiet });
    const { signal, abort } = createAbort();
    const running = queue.startsWith("pg-boss")
      ? handle([{ data: ofPgBoss, retryCount: 2, signal }])
      : handle({ data, attemptsMade: 1, opts: { attempts: 2 } }, "token", signal);
    abort();
    await expect(running).rejects.toMatchObject({ ...ended, cause: signal.reason });
    expect(recorded).toMatchObject([{ outcome: "dead", event: { id: "evt_1" } }]);
    expect(handle).toHaveLength(3); // BullMQ passes no signal to a function with fewer parameters
  },
);

function createAbort() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

// G28
it("inboxHandler ends an attempt of BullMQ, which has no limit, after fifteen minutes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { recorded, onOutcome } = recordOutcomes();
  const handle = inboxHandler(() => new Promise(() => {}), { onOutcome, ...quiet });
  const running = handle({ data, attemptsMade: 0, opts: { attempts: 2 } });
  const rejected = expect(running).rejects.toMatchObject(ended);
  vi.advanceTimersByTime(900_000);
  await rejected;
  expect(recorded).toMatchObject([{ outcome: "failed", attempt: 1 }]);
  await inboxHandler(() => {}, quiet)({ data, attemptsMade: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

const nul = new Error("card a\0b is unknown");
const ofBullmq = { data, attemptsMade: 0, opts: { attempts: 2 } };
const circular = Object.assign(new Error("not now"), { self: {} });
circular.self = circular;

async function failJob(job: object, error: unknown) {
  const { recorded, onOutcome } = recordOutcomes();
  const handle = inboxHandler(() => Promise.reject(error), { onOutcome, ...quiet });
  const thrown = await handle(job).catch((one) => one);
  expect(recorded).toMatchObject([{ outcome: "failed" }]);
  expect(recorded[0] && "error" in recorded[0] && recorded[0].error === error).toBe(true);
  return thrown;
}

it.each([
  ["is undefined", undefined],
  ["is null", null],
  ["is not text", Object.create(null)],
  ["is text", "card is unknown"],
  ["cannot be read", Object.defineProperty(new Error(), "message", { get: () => expect.fail() })],
])(
  "inboxHandler rejects with an error of its own when that of the handler %s",
  async (_name, error) => {
    for (const job of [ofBullmq, { data: ofPgBoss, retryCount: 0 }]) {
      const thrown = await failJob(job, error);
      expect(thrown).toBeInstanceOf(Error);
      expect(thrown.message).toMatch(/^The handler failed: (?!.*is unknown)/);
    }
  },
);

it.each([
  ["NUL in its message", nul],
  ["half of a surrogate pair in its message", new Error("card \ud800 is unknown")],
  ["NUL in its cause", new Error("x", { cause: new Error("y", { cause: nul }) })],
  ["NUL in a member", Object.assign(new Error("x"), { detail: { text: "a\0b is unknown" } })],
  ["NUL in the name of a member", Object.assign(new Error("x"), { "a\0b is unknown": 1 })],
  ["NUL in one of its errors", new AggregateError([nul], "x")],
  ["NUL in the message of an object", { message: nul.message }],
])(
  "inboxHandler rejects with what PostgreSQL can store when the error has %s",
  async (_name, error) => {
    const thrown = await failJob({ data: ofPgBoss, retryCount: 0 }, error);
    expect(thrown).toBeInstanceOf(Error);
    expect(thrown.message).toMatch(/^The handler failed: /);
    expect(`${thrown.message} ${thrown.stack}`).not.toMatch(/\0|\ud800|is unknown/);
    expect(thrown).not.toHaveProperty("cause");
    expect(await failJob(ofBullmq, error)).toBe(error); // Redis stores any text
  },
);

it("inboxHandler rejects with an error that refers to itself, and with one of BullMQ, as it is", async () => {
  expect(await failJob({ data: ofPgBoss, retryCount: 0 }, circular)).toBe(circular);
  const error = Object.assign(new Error(nul.message), { name: "UnrecoverableError" });
  await expect(inboxHandler(() => Promise.reject(error), quiet)(ofBullmq)).rejects.toBe(error);
});

it("inboxHandler reports a job that cannot be read", async () => {
  const { recorded, onOutcome } = recordOutcomes();
  const handle = inboxHandler(() => {}, { onOutcome, ...quiet });
  const job = { id: "event-1", data: { ...data, body: "{" }, attemptsMade: 0 };
  await expect(handle(job)).rejects.toThrow(SyntaxError);
  await expect(handle({ data: {}, retryCount: 0 })).rejects.toThrow("not added by an inbox");
  expect(recorded).toMatchObject([
    { outcome: "dead", event: { id: "event-1", type: "" } },
    { outcome: "failed", event: { id: "", type: "" } },
  ]);
});
