/** Checks a running receiver from outside: sends valid and invalid deliveries, and reports which responses are wrong. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { createReceiver, type Secret } from "@loyalty-cards/webhook-verify";
import { acceptanceChecks, type Check, describeResponse, expectSuccess } from "./checks.ts";
import { type EffectCheck, type Examination, effectChecks, restartChecks } from "./effect-checks.ts";
import { createExaminer, type Examiner } from "./examiner.ts";
import { createProbe, ExaminationError } from "./probe.ts";
import { createOversizedCheck, forgedChecks, malformedChecks, stalledCheck } from "./rejection-checks.ts";
import { createDeliveries, createSender, type TestResponse } from "./sender.ts";

/** Which receiver to check, and how. */
export interface CheckReceiverOptions {
  /** The receiver's address. Nothing is sent to any other address, and redirects are not followed. */
  url: string | URL;
  /** The signing secret of the receiver. */
  secret: Secret;
  fetch?: typeof globalThis.fetch;
  /** The receiver's tolerance in seconds. Default 300. */
  toleranceSeconds?: number;
  /**
   * The timeout of one delivery in milliseconds. Default 10 000, the timeout of the service
   * ([spec 6.3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-1)).
   */
  timeoutMs?: number;
  /** The timeout of the whole run in milliseconds; the remaining checks are reported as not run. Default 120 000, with `restart` 300 000. */
  deadlineMs?: number;
  /** The size of the oversized delivery in bytes. Default 16 MiB. */
  oversizedBytes?: number;
  /**
   * The card and the customer of the `balance.changed` events. Set the card when the handler ignores cards that it does not know. By
   * default the checks of effects use new cards, `card_doctor_…`.
   */
  cardId?: string;
  customerId?: string;
  /**
   * An address that returns what the handler stores for a card, so that effects are checked too: `GET {probe}?card=ID` returns
   * `{ "balance": 120, "effects": 1 }`, and `{}` or 404 for an unknown card. `effects` counts what must happen once per event, for
   * example emails sent or rows of a history; leave it out when the handler only stores the balance.
   * @example
   * ```ts
   * import express from "express";
   * import pg from "pg";
   *
   * const pool = new pg.Pool();
   * const app = express();
   * app.get("/webhooks/probe", async (request, response) => {
   *   const { rows } = await pool.query("SELECT balance FROM users WHERE card = $1", [request.query.card]);
   *   response.json(rows[0] ?? {});
   * });
   * ```
   */
  probe?: string | URL;
  /** How long an effect can take after the response, in milliseconds. Default 10 000. */
  effectTimeoutMs?: number;
  /**
   * Kills the receiver at once (SIGKILL), starts it, and resolves. With it and `probe`, the effects after a kill are checked too; it is
   * called three or four times.
   */
  restart?: () => Promise<void>;
  /** How long effects can take after a restart, in milliseconds: longer than the lease of a queue. Default 60 000. */
  recoveryTimeoutMs?: number;
  signal?: AbortSignal;
  /** Called with each finding when its check has ended. */
  onFinding?: (finding: Finding) => void;
  /** Internal: set by tests only. */
  testing?: {
    /** The current time in milliseconds. Default `Date.now`. */
    now?: () => number;
  };
}

const { valid, ...otherChecks } = { ...acceptanceChecks, ...forgedChecks, ...malformedChecks };

/** The checks of the signature. A receiver that verifies nothing fails them all for one reason. */
const signatureChecks: ReadonlySet<string> = new Set([...Object.keys(forgedChecks), "long-header"]);

/** The one finding of a receiver that verifies nothing. */
const unverified = {
  verdict: "fail",
  observed: "accepted a changed body, and a signature with another secret: it does not verify signatures",
  advice:
    "Verify the signature of the raw body before anything else, for example with createReceiver, and respond 401. The other checks of signatures would fail for this reason, and were not run.",
} as const;

/** The names of the checks. They are stable, so that a test can expect a finding. */
type CheckName =
  | "valid"
  | keyof typeof otherChecks
  | "response-time"
  | "clock"
  | "oversized"
  | "stalled"
  | keyof typeof effectChecks
  | keyof typeof restartChecks
  | "still-responding";

/** What one check found, and what to change. */
export interface Finding {
  check: CheckName;
  /** `warn`: allowed but not recommended, or not run. */
  verdict: "pass" | "fail" | "warn";
  /** The clause of the specification, e.g. `5.7`. */
  clause: string;
  /** What was sent, in words. */
  sent: string;
  /** What the receiver did, in words. Contains the status of the response, never its body. */
  observed: string;
  /** What to change. Absent for `pass`. */
  advice?: string;
}

/** All findings of one receiver. */
export interface ReceiverReport {
  /** All checks ran and none failed. There may be warnings. */
  passed: boolean;
  findings: Finding[];
}

/**
 * Sends about sixty deliveries, most of them pings, and two `balance.changed` of `cardId`: do not run it against production data.
 * With `probe` it also sends about thirty `balance.changed` and checks what the handler stores; with `restart` it kills the receiver during the run.
 * @throws {TypeError} for an invalid address or secret. Rejects with `signal.reason` when aborted.
 * @example
 * ```ts
 * import { checkReceiver } from "@loyalty-cards/mock-server/doctor";
 *
 * const secret = process.env.LOYALTY_SIGNING_SECRET ?? "";
 * const { passed, findings } = await checkReceiver({ url: "http://127.0.0.1:3000/webhooks/loyalty", secret });
 * for (const { check, verdict, observed, advice } of findings) {
 *   if (verdict !== "pass") console.log(`${verdict} ${check}: it ${observed}. ${advice}`);
 * }
 * process.exitCode = passed ? 0 : 1;
 * ```
 */
export async function checkReceiver(options: CheckReceiverOptions): Promise<ReceiverReport> {
  const { timeoutMs = 10_000, onFinding, probe, restart, signal, testing: { now = Date.now } = {} } = options;
  const { secret, toleranceSeconds = 300, effectTimeoutMs = 10_000, recoveryTimeoutMs = 60_000 } = options;
  const { deadlineMs = restart === undefined ? 120_000 : 300_000 } = options;
  const { oversizedBytes = 16 * 1024 * 1024, fetch = globalThis.fetch } = options;
  createReceiver({ secret, toleranceSeconds, now, handler() {} }); // it rejects invalid options
  if (restart !== undefined && probe === undefined) throw new TypeError("restart needs probe.");
  const runId = crypto.randomUUID().slice(0, 8);
  const { send, sendOnce } = createSender({ url: parseUrl("url", options.url), fetch, timeoutMs, signal });
  const deliveries = createDeliveries({
    secret,
    toleranceSeconds,
    now,
    runId,
    cardId: options.cardId ?? "card_doctor",
    customerId: options.customerId ?? "cus_doctor",
  });
  const examiner =
    probe === undefined
      ? undefined
      : createExaminer({
          deliveries,
          send,
          sendOnce,
          probe: createProbe({ url: parseUrl("probe", probe), fetch, timeoutMs, signal }),
          cardId: options.cardId,
          runId,
          effectTimeoutMs,
          recoveryTimeoutMs,
          restart,
          signal,
        });
  const startedMs = performance.now();
  const findings: Finding[] = [];
  let isComplete = true;

  function addFinding(
    check: CheckName,
    { clause, sends }: Pick<Check, "clause" | "sends">,
    rest: Omit<Finding, "check" | "clause" | "sent">,
  ) {
    const finding = { check, clause, sent: sends, ...rest };
    findings.push(finding);
    onFinding?.(finding);
    return finding;
  }

  function isOverDeadline(name: CheckName, check: Pick<Check, "clause" | "sends">): boolean {
    if (findings.length === 0 || performance.now() - startedMs < deadlineMs) return false;
    isComplete = false;
    addFinding(name, check, {
      verdict: "warn",
      observed: "not checked",
      advice: "The deadline was exceeded; increase deadlineMs.",
    });
    return true;
  }

  async function run(name: CheckName, check: Check): Promise<TestResponse | undefined> {
    if (isOverDeadline(name, check)) return undefined;
    let last: TestResponse | undefined;
    for (const request of await check.createRequests(deliveries)) {
      last = await send(request);
      const problem = check.evaluate(last);
      if (problem === undefined) continue;
      const verdict = check.isAdvisory ? "warn" : "fail";
      const advice =
        typeof check.advice === "string" ? check.advice : await check.advice(last, deliveries, send);
      addFinding(name, check, { verdict, observed: problem, advice });
      return last;
    }
    addFinding(name, check, {
      verdict: "pass",
      observed: last === undefined ? "nothing" : describeResponse(last),
    });
    return last;
  }

  const response = await run("valid", valid);
  const isAccepted = findings[0]?.verdict === "pass";
  // A receiver that rejects a valid delivery rejects the others for the same reason, so the other checks would prove nothing.
  if (isAccepted && response !== undefined) {
    checkTimes(response);
    const verifiesNothing = await acceptsForged();
    if (verifiesNothing) addFinding("tampered", forgedChecks.tampered, unverified);
    for (const [name, check] of Object.entries(otherChecks))
      if (!(verifiesNothing && signatureChecks.has(name))) await run(name as CheckName, check);
    if (examiner !== undefined) await examineEffects(examiner);
    await run("oversized", createOversizedCheck(oversizedBytes));
    await run("stalled", stalledCheck);
    await run("still-responding", {
      ...valid,
      sends: "a ping after all other checks",
      advice:
        "One of the checks above crashed the receiver: find the error in its log, and respond 4xx instead.",
    });
  }
  return { passed: isComplete && findings.every(({ verdict }) => verdict !== "fail"), findings };

  /** Whether the receiver accepts a changed body and a signature with another secret. */
  async function acceptsForged(): Promise<boolean> {
    for (const { createRequests, evaluate } of [forgedChecks.tampered, forgedChecks["other-secret"]])
      for (const request of await createRequests(deliveries)) {
        const forged = await send(request);
        if (evaluate(forged) === undefined || expectSuccess(forged) !== undefined) return false;
      }
    return true;
  }

  async function examineEffects(examiner: Examiner): Promise<void> {
    const checks = { ...effectChecks, ...(restart === undefined ? {} : restartChecks) };
    for (const [name, check] of Object.entries(checks)) {
      if (isOverDeadline(name as CheckName, check)) continue;
      const { verdict, observed, advice = check.advice } = await examine(check, examiner);
      addFinding(name as CheckName, check, { verdict, observed, ...(verdict === "pass" ? {} : { advice }) });
      if (verdict === "warn") isComplete = false;
      // Without a probe that responds, or with deliveries that are not accepted, the others would prove nothing.
      if (verdict === "warn" || (verdict === "fail" && check.isEssential)) break;
    }
  }

  function checkTimes({ durationMs, dateMs }: TestResponse): void {
    const isSlow = durationMs > timeoutMs / 2;
    addFinding(
      "response-time",
      { clause: "6.3.6", sends: valid.sends },
      {
        verdict: isSlow ? "warn" : "pass",
        observed: `responded in ${Math.round(durationMs)} ms`,
        ...(isSlow ? { advice: "Respond first and work afterwards: the service waits 10 seconds." } : {}),
      },
    );
    const skewSeconds = dateMs === undefined ? 0 : Math.round((dateMs - now()) / 1000);
    const isSkewed = Math.abs(skewSeconds) > 30;
    addFinding(
      "clock",
      { clause: "5.7", sends: valid.sends },
      {
        verdict: isSkewed ? "warn" : "pass",
        observed:
          dateMs === undefined ? "sent no Date header" : `has a clock ${skewSeconds} s from the local one`,
        ...(isSkewed ? { advice: "Synchronize the clocks: the tolerance is 300 seconds in total." } : {}),
      },
    );
  }
}

async function examine(check: EffectCheck, examiner: Examiner): Promise<Examination> {
  try {
    return await check.examine(examiner);
  } catch (error) {
    if (!(error instanceof ExaminationError)) throw error;
    return { verdict: check.isEssential ? "fail" : "warn", observed: error.message, advice: error.advice };
  }
}

/** @throws {TypeError} for an address that fetch or the service would not accept. */
function parseUrl(option: "url" | "probe", address: string | URL): string {
  const url = new URL(address);
  if (url.username !== "" || url.password !== "")
    throw new TypeError(`${option} contains a user name or a password; remove it.`);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) return url.href;
  throw new TypeError(
    `${option} must use https (the service delivers to https only); http is allowed for loopback.`,
  ); // spec 6.3.5
}
