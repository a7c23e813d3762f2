/**
 * `trigger`: sends a signed example event to a receiver, and says whether the response was correct.
 */
import { adviseReceiver } from "@loyalty-cards/internal/receiver-advice";
import { eventExamples } from "@loyalty-cards/openapi/event-examples";
import type { KnownEvents } from "@loyalty-cards/openapi/events";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { style, Text, text } from "../printable.ts";
import { createHeaders, explainFailure, readReceiver, sendDelivery } from "./receiver.ts";

interface TriggerOptions {
  to?: string;
  card: string;
  duplicate?: boolean;
}

export async function runTrigger(
  context: Context,
  options: TriggerOptions,
  type: keyof KnownEvents,
): Promise<number> {
  const { print, sources, timeoutMs } = context;
  const { url, secret } = readReceiver(options.to, sources);
  const id = crypto.randomUUID().slice(0, 8);
  const event = createExample(type, `evt_${id}`, options.card);
  const body = Buffer.from(JSON.stringify(event));
  let exitCode: number = exitCodes.complete;
  for (const note of options.duplicate ? ["", "duplicate"] : [""]) {
    const signature = await signWebhook({ rawBody: body, secret });
    const headers = createHeaders(type, `dlv_${id}`, signature);
    const result = await sendDelivery({ url, headers, body, timeoutMs });
    const outcome = "status" in result ? { status: result.status } : { error: result.error };
    const advice = findAdvice(outcome, url);
    const passed = advice === undefined;
    if (!passed) exitCode = exitCodes.failed;
    const { durationMs } = result;
    const sent = { type, id: event.id, ...outcome, durationMs, passed, advice };
    const remark = [note, explainFailure(result, url)].filter(Boolean).join(": ");
    print.data(sent, () => formatSent(sent, remark, print));
  }
  return exitCode;
}

/** What was sent, and what came of it. */
interface Sent {
  type: string;
  id: string;
  status?: number;
  durationMs: number;
  passed: boolean;
  advice: string | undefined;
}

/** `✓ 204   9 ms  balance.changed evt_8sT2kq duplicate`, with the advice below. */
function formatSent(
  { type, id, status, durationMs, passed, advice }: Sent,
  remark: string,
  { columns, dataColumns }: Context["print"],
): Text {
  const mark = passed ? style("green", `✓ ${status}`) : style("red", `✗ ${status ?? "---"}`);
  const duration = style("dim", `${durationMs} ms`.padStart(7));
  const subject = text`${style("bold", type)} ${id} ${remark && style("dim", remark)}`;
  const line = text`${mark} ${duration}  ${subject}`.trimEnd().reflow(dataColumns, "    ");
  return advice === undefined ? line : Text.lines([line, text`    ${advice}`.reflow(columns)]);
}

/** Creates the example of the OpenAPI document, with the current time and for a card. */
function createExample(type: keyof KnownEvents, id: string, cardId: string) {
  const example: { data?: unknown } = eventExamples[type];
  const data = structuredClone(example.data ?? {}) as Record<string, unknown>;
  if ("passId" in data) data["passId"] = cardId;
  if ("passIds" in data) data["passIds"] = [cardId];
  if (data["operation"]) Object.assign(data["operation"], { id: id.replace(/^evt/, "op") });
  return { id, type, createdAt: new Date().toISOString(), data };
}

/** What to change; undefined when the status is as it should be. */
function findAdvice(outcome: { status?: number; error?: string }, url: URL): string | undefined {
  const { status } = outcome;
  if (status !== undefined && status >= 200 && status < 300) return undefined;
  const advice = adviseReceiver(outcome, url);
  return status === undefined ? advice : `${advice} ${statusAdvice}`;
}

const statusAdvice =
  "The service counts every response except 2xx as a failure, and delivers the event again. `loyalty-cards webhook doctor` examines the receiver.";
