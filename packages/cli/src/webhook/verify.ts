/** `webhook verify` and `webhook sign`. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { formatErrorLink } from "@loyalty-cards/internal/error-link";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { style, Text, text } from "../printable.ts";
import { explainDelivery } from "./explain.ts";
import { readSecret } from "./receiver.ts";

export interface VerifyOptions {
  body: string;
  signature?: string;
  at?: string;
  tolerance: number;
  secretEnv?: string;
}

export async function runVerify(context: Context, options: VerifyOptions): Promise<number> {
  const { print, environment, terminal } = context;
  const verdict = await explainDelivery({
    body: await readBody(terminal, options.body),
    signature: options.signature,
    secret: readSecret(environment, options.secretEnv),
    atMs: parseAt(options.at) ?? Date.now(),
    toleranceSeconds: options.tolerance,
  });
  if (verdict.verified) {
    const { event, signedAt, isKnown } = verdict;
    const { id, createdAt } = event;
    const type = String(event.type);
    print.data({ verified: true, event: { id, type, createdAt }, signedAt, isKnown }, () =>
      Text.lines([
        text`${style("green", "✓ verified")}  ${style("bold", type)} ${id}, signed at ${signedAt}`,
        ...(isKnown
          ? []
          : ["  Its type or its data is not in this version's contract; a receiver gets it as unknown."]),
      ]),
    );
    return exitCodes.complete;
  }
  const { reason, explanation, fix } = verdict;
  print.data(verdict, () =>
    Text.lines([
      style("red", `✗ rejected: ${reason}`),
      Text.from(explanation).wrap(print.columns, "  "),
      text`${style("bold", "Fix:")} ${fix}`.wrap(print.columns, "  "),
      ` ${formatErrorLink(`webhook-${reason}`)}`,
    ]),
  );
  return exitCodes.failed;
}

/** The bytes of a file, or of stdin for `-`. @throws {CommandError} when the file cannot be read. */
async function readBody({ stdin, cwd }: Context["terminal"], file: string): Promise<Uint8Array> {
  if (file === "-") {
    const chunks: Uint8Array[] = [];
    for await (const chunk of stdin) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  try {
    return readFileSync(resolve(cwd, file));
  } catch (error) {
    throw new CommandError(`"${file}" cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

/** Converts Unix seconds or ISO 8601 to milliseconds. @throws {CommandError} for other text. */
function parseAt(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  // Date.parse also takes texts that mean something else: "-5" is a month.
  const isIso = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * 1000 : isIso ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms) && ms >= 0) return ms;
  throw new CommandError(`--at takes unix seconds or a time such as 2026-01-01T00:00:00Z, not "${text}".`);
}

export interface SignOptions {
  body: string;
  at?: string;
  secretEnv?: string;
}

export async function runSign(context: Context, { body, at, secretEnv }: SignOptions): Promise<undefined> {
  const secret = readSecret(context.environment, secretEnv);
  const timestamp = Math.floor((parseAt(at) ?? Date.now()) / 1000);
  const value = await signWebhook({ rawBody: await readBody(context.terminal, body), secret, timestamp });
  context.print.data({ header: "Service-Signature", value }, () => `Service-Signature: ${value}`);
  return undefined;
}
