/** Examines a running receiver from outside: sends it good and bad deliveries and tells what it got wrong. */
import { readClock } from "../clock.ts";
import type { Secret } from "../secret.ts";
import { signingKeys } from "../secret.ts";
import { checkedTolerance } from "../verify.ts";
import { benchOf } from "./bench.ts";
import { type Check, inWords } from "./check.ts";
import { oversized, stalled } from "./exhaustion.ts";
import { forged } from "./forged.ts";
import { genuine } from "./genuine.ts";
import { hostile } from "./hostile.ts";
import { type Answer, sender } from "./send.ts";

/** Which receiver to examine, and how. */
export interface ExamineOptions {
  /** The receiver's address. Nothing is ever sent anywhere else, and no redirect is followed. */
  url: string | URL;
  /** The signing secret the receiver was given. */
  secret: Secret;
  fetch?: typeof globalThis.fetch;
  /** The receiver's tolerance. Default 300. */
  toleranceSeconds?: number;
  /** How long one answer may take. Default 10 000, as with the service (spec 6.3.1). */
  timeLimitMs?: number;
  /** How long everything may take; what is left then is reported as not examined. Default 120 000. */
  deadlineMs?: number;
  /** How much the oversized delivery holds. Default 16 MiB. */
  oversizedBytes?: number;
  /** Card and customer of the two `balance.changed`; every other event is a ping or unknown. */
  cardId?: string;
  customerId?: string;
  now?: () => number;
  /** Part of the events' ids. Default random. */
  runId?: string;
  signal?: AbortSignal;
  /** Told of each finding as soon as it stands. */
  onFinding?: (finding: Finding) => void;
}

const { valid, ...others } = { ...genuine, ...forged, ...hostile };

/** What is examined, by name: stable, so that a finding can be expected. */
export type CheckName =
  | "valid"
  | keyof typeof others
  | "answer-time"
  | "clock"
  | "oversized"
  | "stalled"
  | "still-standing";

/** What one check found, and what to change. */
export interface Finding {
  check: CheckName;
  /** `warn`: allowed, but unwise, or not examined. */
  verdict: "pass" | "fail" | "warn";
  /** The part of the specification that is examined, e.g. `5.7`. */
  clause: string;
  /** What was sent, in words. */
  sent: string;
  /** What came back, in words. Holds nothing of the answer but its status. */
  observed: string;
  /** What to change; absent with `pass`. */
  advice?: string;
}

/** All findings of one receiver. */
export interface Examination {
  /** Everything was examined and nothing failed. Warnings may be left. */
  passed: boolean;
  findings: Finding[];
}

/**
 * Sends about sixty deliveries, pings most of them. Use it on a system where two balances of `cardId` hurt nobody.
 * @throws {TypeError} for an address or a secret that cannot be right. Rejects with `signal.reason` when aborted.
 * @example
 * ```ts
 * import { examineReceiver } from "@loyalty-cards/webhook-verify/doctor";
 *
 * const secret = process.env.LOYALTY_SIGNING_SECRET ?? "";
 * const { passed, findings } = await examineReceiver({ url: "http://127.0.0.1:3000/webhooks", secret });
 * for (const { check, verdict, observed, advice } of findings) {
 *   if (verdict !== "pass") console.log(`${verdict} ${check}: it ${observed}. ${advice}`);
 * }
 * process.exitCode = passed ? 0 : 1;
 * ```
 */
export async function examineReceiver(options: ExamineOptions): Promise<Examination> {
  const { now = Date.now, timeLimitMs = 10_000, deadlineMs = 120_000, onFinding } = options;
  const { oversizedBytes = 16 * 1024 * 1024, fetch = globalThis.fetch } = options;
  signingKeys(options.secret);
  readClock("now", now);
  const send = sender({ url: addressOf(options.url), fetch, timeLimitMs, signal: options.signal });
  const bench = benchOf({
    secret: options.secret,
    toleranceSeconds: checkedTolerance(options.toleranceSeconds),
    now,
    runId: options.runId ?? crypto.randomUUID().slice(0, 8),
    cardId: options.cardId ?? "card_doctor",
    customerId: options.customerId ?? "cus_doctor",
  });
  const startedMs = performance.now();
  const findings: Finding[] = [];
  let isComplete = true;

  function found(
    check: CheckName,
    { clause, sends }: Pick<Check, "clause" | "sends">,
    rest: Omit<Finding, "check" | "clause" | "sent">,
  ) {
    const finding = { check, clause, sent: sends, ...rest };
    findings.push(finding);
    onFinding?.(finding);
    return finding;
  }

  async function examine(name: CheckName, check: Check): Promise<Answer | undefined> {
    if (findings.length > 0 && performance.now() - startedMs >= deadlineMs) {
      isComplete = false;
      found(name, check, {
        verdict: "warn",
        observed: "not examined",
        advice: "The time was up; allow more.",
      });
      return undefined;
    }
    let last: Answer | undefined;
    for (const shipment of await check.shipments(bench)) {
      last = await send(shipment);
      const wrong = check.judged(last);
      if (wrong === undefined) continue;
      const verdict = check.isAdvisory ? "warn" : "fail";
      const advice = typeof check.advice === "string" ? check.advice : await check.advice(last, bench, send);
      found(name, check, { verdict, observed: wrong, advice });
      return last;
    }
    found(name, check, { verdict: "pass", observed: last === undefined ? "nothing" : inWords(last) });
    return last;
  }

  const answer = await examine("valid", valid);
  const isTaken = findings[0]?.verdict === "pass";
  // Who takes no genuine delivery refuses the others for the same reason, and nothing could be told from that.
  if (isTaken && answer !== undefined) {
    aboutTime(answer);
    for (const [name, check] of Object.entries(others)) await examine(name as CheckName, check);
    await examine("oversized", oversized(oversizedBytes));
    await examine("stalled", stalled);
    await examine("still-standing", {
      ...valid,
      sends: "a ping after all that",
      advice:
        "Something of the above took the receiver down: find the error in its log and answer 4xx instead.",
    });
  }
  return { passed: isComplete && findings.every(({ verdict }) => verdict !== "fail"), findings };

  function aboutTime({ durationMs, dateMs }: Answer): void {
    const isSlow = durationMs > timeLimitMs / 2;
    found(
      "answer-time",
      { clause: "6.3.6", sends: valid.sends },
      {
        verdict: isSlow ? "warn" : "pass",
        observed: `answered in ${Math.round(durationMs)} ms`,
        ...(isSlow ? { advice: "Answer first and work afterwards: the service waits 10 seconds." } : {}),
      },
    );
    const skewSeconds = dateMs === undefined ? 0 : Math.round((dateMs - now()) / 1000);
    const isSkewed = Math.abs(skewSeconds) > 30;
    found(
      "clock",
      { clause: "5.7", sends: valid.sends },
      {
        verdict: isSkewed ? "warn" : "pass",
        observed: dateMs === undefined ? "it does not tell its time" : `${skewSeconds} s from ours`,
        ...(isSkewed ? { advice: "Set the clocks: the tolerance is 300 seconds in all." } : {}),
      },
    );
  }
}

/** @throws {TypeError} for what fetch would refuse later, or the service would not accept as an endpoint. */
function addressOf(given: string | URL): string {
  const url = new URL(given);
  if (url.username !== "" || url.password !== "")
    throw new TypeError("url has a user name or a password in it.");
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback)) return url.href;
  throw new TypeError("url must be https, as the service's endpoints are; http is for loopback only."); // spec 6.3.5
}
