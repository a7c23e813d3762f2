/** Checks a captured delivery as a receiver does, step by step, and says why a step fails. Runs in the browser. */
import { explainMismatch } from "@loyalty-cards/internal/body-changes";
import { formatDuration } from "@loyalty-cards/internal/format";
import { isKnownEvent, parseEvent, type WebhookEvent } from "../../../packages/webhook-verify/src/event.ts";
import {
  isWebhookVerificationError,
  type VerificationErrorReason,
} from "../../../packages/webhook-verify/src/reasons.ts";
import { signWebhook, verifyWebhook } from "../../../packages/webhook-verify/src/verify.ts";

export interface Delivery {
  /** The lines of the header `Service-Signature`. */
  signature: readonly string[];
  body: Uint8Array;
  secrets: readonly (string | Uint8Array)[];
  nowMs: number;
  toleranceSeconds: number;
}

/** One check. `skipped`: an earlier check failed, so that this one cannot be made. */
export interface Step {
  title: string;
  status: "passed" | "failed" | "skipped";
  details: string;
}

export interface Report {
  verdict: "valid" | VerificationErrorReason;
  steps: readonly Step[];
}

const titles = [
  "The header is present",
  "The header is well formed",
  "The time is within the tolerance",
  "A signature matches",
  "The body is an event",
] as const;

/** The step that fails, for each reason. */
const failedSteps: Record<VerificationErrorReason, number> = {
  "missing-signature": 0,
  "malformed-signature": 1,
  stale: 2,
  future: 2,
  mismatch: 3,
  "invalid-payload": 4,
};

/** @throws {TypeError} for an invalid secret or tolerance; the message says what to change. */
export async function checkDelivery(delivery: Delivery): Promise<Report> {
  const { signature, nowMs } = delivery;
  const header = signature.length < 2 ? (signature[0] ?? "") : "";
  const timestamp = Number(/(?:^|,[ \t]*)t=(\d{1,12})(?:,|$)/.exec(header)?.[1]);
  const result = await verify(delivery, nowMs);
  const verdict = typeof result === "string" ? result : "valid";
  // A captured delivery is usually too old: what else is wrong with it is of interest all the same.
  const isOld = verdict === "stale" || verdict === "future";
  const atItsTime = isOld ? await verify(delivery, timestamp * 1_000) : result;
  const rest = typeof atItsTime === "string" ? failedSteps[atItsTime] : titles.length;

  const details = [
    async (passed: boolean) => (passed ? "" : "The request has no Service-Signature header."),
    async (passed: boolean) => (passed ? describeHeader(header, timestamp) : explainMalformed(signature)),
    async () => describeAge(delivery, timestamp),
    async (passed: boolean) =>
      passed ? describeMatch(delivery, timestamp) : explain(delivery, header, timestamp),
    async (passed: boolean) => (passed ? describeEvent(atItsTime) : `${parseEvent(delivery.body)}.`),
  ];
  const steps: Step[] = [];
  for (const [index, title] of titles.entries()) {
    const isFailed = index === rest || (isOld && index === 2);
    const status = isFailed ? "failed" : index < rest ? "passed" : "skipped";
    const text = status === "skipped" ? "" : await details[index]?.(status === "passed");
    steps.push({ title, status, details: text ?? "" });
  }
  return { verdict, steps };
}

async function verify(
  { signature, body: rawBody, secrets: secret, toleranceSeconds }: Delivery,
  nowMs: number,
): Promise<WebhookEvent | VerificationErrorReason> {
  try {
    return await verifyWebhook({ rawBody, signature, secret, toleranceSeconds, now: () => nowMs });
  } catch (error) {
    if (isWebhookVerificationError(error)) return error.reason;
    throw error;
  }
}

const toIso = (ms: number) => new Date(ms).toISOString().replace(".000Z", "Z");

function describeHeader(header: string, timestamp: number): string {
  const count = header.match(/(?:^|,[ \t]*)v1=/g)?.length ?? 0;
  return `t is ${timestamp}, that is ${toIso(timestamp * 1_000)}. ${count === 1 ? "There is one signature" : `There are ${count} signatures`} (v1).`;
}

/** Only for a header that the verifier did not accept. */
function explainMalformed(lines: readonly string[]): string {
  const [line = ""] = lines;
  if (lines.length > 1) return "The header is there more than once. Only one line is accepted.";
  if (line.length > 1_024) return `The value has ${line.length} characters. At most 1024 are accepted.`;
  if (line !== line.trim()) return "There is white space around the value.";
  const pairs = line.split(/,[ \t]*/);
  const times = pairs.filter((pair) => pair.startsWith("t="));
  const signatures = pairs.filter((pair) => pair.startsWith("v1="));
  if (pairs.some((pair) => !/^[^=]+=/.test(pair))) return "Each part between two commas must be name=value.";
  if (times.length === 0) return "There is no t=<unix seconds>.";
  if (times.length > 1) return "There is more than one t. Did a proxy join two header lines?";
  if (!/^t=\d{1,12}$/.test(times[0] ?? ""))
    return "t must be a number of seconds: 1 to 12 digits and nothing else.";
  if (signatures.length === 0) return "There is no v1=<64 hex digits>.";
  if (signatures.length > 5) return `There are ${signatures.length} v1. At most 5 are accepted.`;
  const wrong = signatures.find((pair) => !/^v1=[\da-f]{64}$/i.test(pair)) ?? "";
  return `Each v1 must have 64 hex digits; one has ${wrong.length - 3} characters${/^v1=[\da-f]*$/i.test(wrong) ? "" : ", and not all are hex digits"}.`;
}

function describeAge({ nowMs, toleranceSeconds }: Delivery, timestamp: number): string {
  const skewSeconds = Math.floor(nowMs / 1_000) - timestamp;
  const size = Math.abs(skewSeconds);
  const exact = size < 60 ? "" : ` (${size} s)`;
  const age =
    skewSeconds === 0
      ? "at the time of the check"
      : `${formatDuration(size * 1_000)}${exact} ${skewSeconds > 0 ? "before" : "after"} the time of the check`;
  return `Signed ${age}, ${toIso(Math.floor(nowMs / 1_000) * 1_000)}. The tolerance is ${toleranceSeconds} s.`;
}

async function describeMatch(delivery: Delivery, timestamp: number): Promise<string> {
  const { secrets } = delivery;
  if (secrets.length === 1) return "The secret and the body belong to this signature.";
  for (const [index, secret] of secrets.entries()) {
    const result = await verify({ ...delivery, secrets: [secret] }, timestamp * 1_000);
    if (result !== "mismatch") return `Secret ${index + 1} of ${secrets.length} matches.`;
  }
  return "";
}

/** Why no signature matches: a common change of the body, or else the signature that was expected. */
async function explain(delivery: Delivery, header: string, timestamp: number): Promise<string> {
  const change = await explainMismatch(delivery.body, async (other) => {
    const body = new TextEncoder().encode(other);
    return (await verify({ ...delivery, body }, timestamp * 1_000)) !== "mismatch";
  });
  if (change !== undefined) return change.replaceAll("`", "");
  // With the digits of t as they were sent: a leading zero is part of the signed text.
  const [secret = ""] = delivery.secrets;
  const expected = await signWebhook({ rawBody: delivery.body, secret, timestamp });
  const [, hex = ""] = expected.split("v1=");
  const isExact = new RegExp(`t=${timestamp}(,|$)`).test(header);
  return `The secret or the body is another one. Neither this body nor a common change of it has this signature.${
    isExact && delivery.secrets.length === 1 ? ` Expected with this secret and body: v1=${hex}` : ""
  }`;
}

function describeEvent(event: WebhookEvent | VerificationErrorReason): string {
  if (typeof event === "string") return "";
  const known = isKnownEvent(event)
    ? ""
    : " Its type or its data is not in the contract of this version; a receiver gets it as unknown.";
  return `${event.type}, id ${event.id}.${known}`;
}
