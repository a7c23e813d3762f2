/** `webhook replay`: recorded deliveries. */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { createHeaders, readReceiverUrl, readSecret } from "./receiver.ts";
import { findHeader, readRecordings } from "./recording.ts";
import { type Rejection, reportDelivery } from "./report.ts";
import { sendDelivery } from "./send-delivery.ts";

const toleranceSeconds = 300;

export interface ReplayOptions {
  to?: string;
  secretEnv?: string;
  originalSignature?: boolean;
  includeRejected?: boolean;
  event?: string[];
}

export async function runReplay(context: Context, options: ReplayOptions, path: string): Promise<number> {
  const { environment, terminal } = context;
  const url = readReceiverUrl(options.to, environment);
  const secret = options.originalSignature ? undefined : readSecret(environment, options.secretEnv);
  const recordings = readRecordings(resolve(terminal.cwd, path));
  let [count, notSent, exitCode]: [number, number, number] = [0, 0, exitCodes.complete];
  for (const recording of recordings) {
    const { name, body, rejected } = recording;
    // Anyone can send to a tunnel: a new signature would make a forged delivery a valid one.
    if (rejected !== undefined && !options.includeRejected) {
      context.print.error(`${name} is not sent: \`webhook listen\` rejected it (${rejected}).`);
      notSent += 1;
      continue;
    }
    const { type, id } = readEnvelope(body, name);
    if (options.event !== undefined && !options.event.includes(type)) continue;
    count += 1;
    const original = findHeader(recording, "service-signature") ?? "";
    const signature = secret === undefined ? original : await signWebhook({ rawBody: body, secret });
    const deliveryId = findHeader(recording, "service-delivery") ?? `dlv_${randomUUID().slice(0, 8)}`;
    const headers = {
      ...createHeaders(type, deliveryId, signature),
      "content-type": findHeader(recording, "content-type") ?? "application/json",
    };
    const isExpired = secret === undefined && isStale(Number(/t=(\d+)/.exec(original)?.[1]));
    const rejection = isExpired ? "stale" : undefined;
    if ((await send(context, { url, headers, body, type, id, rejection })) !== 0) exitCode = exitCodes.failed;
  }
  if (count === 0 && notSent > 0)
    throw new CommandError("Nothing was sent: use --include-rejected to send rejected deliveries too.");
  if (count === 0)
    throw new CommandError(`"${path}" has no recorded delivery${options.event ? " of this type" : ""}.`);
  return exitCode;
}

/** Whether the receiver has to reject the timestamp. True for NaN. */
const isStale = (timestamp: number) => !(Math.abs(Date.now() / 1000 - timestamp) <= toleranceSeconds);

interface Prepared {
  url: URL;
  headers: Record<string, string>;
  body: Uint8Array;
  type: string;
  id: string;
  rejection: Rejection | undefined;
}

async function send({ print, timeoutMs }: Context, delivery: Prepared): Promise<number> {
  const { url, headers, body, type, id, rejection } = delivery;
  const result = await sendDelivery({ url, headers, body, timeoutMs });
  const notes = rejection === undefined ? [] : ["signature expired"];
  return reportDelivery(print, { type, id, url, notes, rejection }, result)
    ? exitCodes.complete
    : exitCodes.failed;
}

/**
 * The type and id of a body, for headers and for people. A body that is not an event is sent anyway.
 * @throws {CommandError} for a type that the header of a delivery cannot have.
 */
function readEnvelope(body: Uint8Array, name: string): { type: string; id: string } {
  let event: { type?: unknown; id?: unknown } | null = null;
  try {
    event = JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    // it is not JSON
  }
  const type = event?.type ?? "unknown";
  const id = event?.id ?? "";
  if (event?.type === null || typeof type !== "string")
    throw new CommandError(`The member type of "${name}" must be a text, such as "ping": correct the event.`);
  return { type, id: typeof id === "string" ? id : JSON.stringify(id) };
}
