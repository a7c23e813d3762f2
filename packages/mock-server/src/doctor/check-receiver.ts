/** Checks a running receiver from outside: sends valid and invalid deliveries, and reports which responses are wrong. */
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { createReceiver, type Secret } from "@loyalty-cards/webhook-verify";
import { acceptanceChecks, type Check, describeResponse, expectSuccess } from "./checks.ts";
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
  /** The timeout of the whole run in milliseconds; the remaining checks are reported as not run. Default 120 000. */
  deadlineMs?: number;
  /** The size of the oversized delivery in bytes. Default 16 MiB. */
  oversizedBytes?: number;
  /**
   * The card and the customer of the `balance.changed` events. Set the card when the handler fails for cards that it does not know.
   * Default `card_doctor` and `cus_doctor`.
   */
  cardId?: string;
  customerId?: string;
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
  const {
    timeoutMs = 10_000,
    deadlineMs = 120_000,
    onFinding,
    signal,
    testing: { now = Date.now } = {},
  } = options;
  const { secret, toleranceSeconds = 300, oversizedBytes = 16 * 1024 * 1024 } = options;
  createReceiver({ secret, toleranceSeconds, now, handler() {} }); // it rejects invalid options
  const runId = crypto.randomUUID().slice(0, 8);
  const send = createSender({ url: parseUrl(options.url), fetch: options.fetch ?? fetch, timeoutMs, signal });
  const deliveries = createDeliveries({
    secret,
    toleranceSeconds,
    now,
    runId,
    cardId: options.cardId ?? "card_doctor",
    customerId: options.customerId ?? "cus_doctor",
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

/** @throws {TypeError} for an address that fetch or the service would not accept. */
function parseUrl(address: string | URL): string {
  const url = new URL(address);
  if (url.username !== "" || url.password !== "")
    throw new TypeError("url contains a user name or a password; remove it.");
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) return url.href;
  throw new TypeError(
    "url must use https (the service delivers to https only); http is allowed for loopback.",
  ); // spec 6.3.5
}
