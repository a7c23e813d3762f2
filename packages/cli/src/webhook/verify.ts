/**
 * `webhook verify` and `webhook sign`: verifies a captured delivery, and finds out why it fails:
 * its age, the secret, or how the body was changed.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { buffer as readAll } from "node:stream/consumers";
import { formatErrorLink, removeErrorLink } from "@loyalty-cards/internal/errors";
import { explainMismatch } from "@loyalty-cards/internal/explain-delivery";
import { formatDuration } from "@loyalty-cards/internal/format";
import {
  isKnownEvent,
  isWebhookVerificationError,
  signWebhook,
  verifyWebhook,
  type WebhookEvent,
  type WebhookVerificationError,
} from "@loyalty-cards/webhook-verify";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { style, Text, text } from "../printable.ts";
import type { Printer } from "../printer.ts";
import { readSecret, secretAdvice } from "./receiver.ts";

interface VerifyOptions {
  body: string;
  /** The value of the header, with or without its name before it. */
  signature?: string;
  at?: string;
  tolerance: number;
}

/** A captured delivery, and what it is verified with. */
interface CapturedDelivery {
  rawBody: Uint8Array;
  /** The value of the header; empty when there is none. */
  signature: string;
  /** The `t` of the signature, in Unix seconds; `NaN` when there is none. */
  timestamp: number;
  secret: string;
  toleranceSeconds: number;
  /** When it is verified. */
  atMs: number;
}

export async function runVerify(
  { print, ...context }: Context,
  options: VerifyOptions,
): Promise<number> {
  const delivery = await readDelivery(context, options);
  const { rawBody, signature, timestamp, secret, toleranceSeconds, atMs } = delivery;
  const now = () => atMs;
  try {
    const event = await verifyWebhook({ rawBody, signature, secret, toleranceSeconds, now });
    printVerified(print, event, toIso(timestamp));
    return exitCodes.complete;
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    printRejected(print, error.reason, await explain(error, delivery));
    return exitCodes.failed;
  }
}

async function readDelivery(
  { terminal, environment }: Pick<Context, "terminal" | "environment">,
  options: VerifyOptions,
): Promise<CapturedDelivery> {
  const signature = options.signature?.replace(/^\s*service-signature\s*:\s*/i, "").trim() ?? "";
  return {
    rawBody: await readBody(terminal, options.body),
    signature,
    timestamp: Number(/(?:^|,)\s*t=(\d{1,12})/.exec(signature)?.[1] ?? Number.NaN),
    secret: readSecret(environment),
    toleranceSeconds: options.tolerance,
    atMs: parseAt(options.at) ?? Date.now(),
  };
}

function printVerified(print: Printer, event: WebhookEvent, signedAt: string): void {
  const { id, createdAt } = event;
  const type = String(event.type);
  const isKnown = isKnownEvent(event);
  const note =
    "\n  Its type or its data is not in this version's contract; a receiver gets it as unknown.";
  print.data(
    { verified: true, event: { id, type, createdAt }, signedAt, isKnown },
    () =>
      text`${style("green", "✓ verified")}  ${style("bold", type)} ${id}, signed at ${signedAt}${isKnown ? "" : Text.multiline(note)}`,
  );
}

function printRejected(print: Printer, reason: string, { explanation, fix }: Explanation): void {
  print.data({ verified: false, reason, explanation, fix }, () =>
    Text.lines([
      style("red", `✗ rejected: ${reason}`),
      text`  ${explanation}`.reflow(print.columns),
      text`  ${style("bold", "Fix:")} ${fix}`.reflow(print.columns),
      ` ${formatErrorLink(`webhook-${reason}`)}`,
    ]),
  );
}

const toIso = (seconds: number) => new Date(seconds * 1000).toISOString();

interface Explanation {
  explanation: string;
  fix: string;
}

async function explain(
  { reason, message, skewSeconds = 0 }: WebhookVerificationError,
  delivery: CapturedDelivery,
): Promise<Explanation> {
  switch (reason) {
    case "mismatch":
      return explainSignature(delivery);
    case "stale":
    case "future":
      return explainAge(delivery, skewSeconds);
    default:
      return { explanation: removeErrorLink(message), fix: fixes[reason] };
  }
}

const fixes = {
  "missing-signature": "Pass the value of the header with --signature.",
  "malformed-signature": "Pass the whole value of Service-Signature in quotes, once.",
  "invalid-payload":
    "The service does not send this: was the body signed by a program of your own?",
} as const;

function explainAge(
  { timestamp, atMs, toleranceSeconds }: CapturedDelivery,
  skewSeconds: number,
): Explanation {
  const age = formatDuration(Math.abs(skewSeconds) * 1000);
  const distance = `${age} ${skewSeconds > 0 ? "before" : "after"} ${new Date(atMs).toISOString()}`;
  return {
    explanation: `It was signed at ${toIso(timestamp)}, ${distance}; the tolerance is ${toleranceSeconds} s.`,
    fix: `For an old capture pass the time of its arrival, for example --at ${toIso(timestamp)}. For a new one synchronize the clock of this machine.`,
  };
}

/** Tries the common changes of a body. */
async function explainSignature({
  rawBody,
  signature,
  secret,
  timestamp,
}: CapturedDelivery): Promise<Explanation> {
  const explanation = await explainMismatch(rawBody, async (changed) => {
    const signed = await signWebhook({ rawBody: changed, secret, timestamp });
    const [, hex = ""] = signed.split("v1=");
    return signature.toLowerCase().includes(hex);
  });
  const capture = "Capture the bytes as they arrived, before anything parses or prints them.";
  if (explanation !== undefined) return { explanation, fix: capture };
  return {
    explanation:
      "The secret or the body is another one: the signature belongs to neither this body nor a common change of it.",
    fix: `${secretAdvice} ${capture}`,
  };
}

/** Reads the bytes of a file, or of stdin for `-`. */
async function readBody({ stdin, cwd }: Context["terminal"], file: string): Promise<Uint8Array> {
  return file === "-" ? readAll(stdin) : readFileSync(resolve(cwd, file));
}

/**
 * Converts Unix seconds or ISO 8601 to milliseconds.
 * @throws {CommandError} for other text.
 */
function parseAt(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1000;
  // Date.parse also takes texts that mean something else: "-5" is a month.
  const isIso = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
  if (isIso && Date.parse(text) >= 0) return Date.parse(text);
  throw new CommandError(
    `--at takes unix seconds or a time such as 2026-01-01T00:00:00Z, not "${text}".`,
  );
}

export async function runSign(
  context: Context,
  { body, at }: Pick<VerifyOptions, "body" | "at">,
): Promise<undefined> {
  const secret = readSecret(context.environment);
  const timestamp = Math.floor((parseAt(at) ?? Date.now()) / 1000);
  const value = await signWebhook({
    rawBody: await readBody(context.terminal, body),
    secret,
    timestamp,
  });
  context.print.data({ header: "Service-Signature", value }, () => `Service-Signature: ${value}`);
}
