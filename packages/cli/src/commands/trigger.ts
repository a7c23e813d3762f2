/** `trigger`: sends signed example events to a receiver, including duplicates, a wrong order, expired and wrong signatures. */
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { addExamples, type Cli, type Context, collect, parseWhole, setAction } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { style, text } from "../printable.ts";
import {
  createExample,
  createHeaders,
  type ExampleEvent,
  knownTypes,
  readReceiverUrl,
  readSecret,
  setMember,
} from "../webhook/delivery.ts";
import type { Rejection } from "../webhook/send-delivery.ts";

interface TriggerOptions {
  to?: string;
  secretEnv?: string;
  card?: string;
  set?: string[];
  times: number;
  duplicate?: boolean;
  reorder?: boolean;
  stale?: boolean;
  badSignature?: boolean;
}

/** The card of the examples in the documentation. */
const exampleCardId = "card_8sT2kq";

/** Twice the tolerance ([spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)). */
const staleSeconds = 600;

export function addTriggerCommand(program: Command, cli: Cli): void {
  const trigger = program
    .command("trigger")
    .summary("send a signed event to a receiver")
    .description(
      "send a signed event to a receiver, and check its response. The secret is LOYALTY_SIGNING_SECRET of the environment or .env",
    )
    .argument("<event>", `${knownTypes.join(", ")}, or another type`);
  addReceiverOptions(trigger)
    .option("--card <id>", `the card of the event (default: ${exampleCardId}, which no service has)`)
    .option("--set <path=value>", "change a member: data.balance=7; repeatable", collect)
    .option("--times <number>", "send this many different events", parseWhole(1, 10_000), 1)
    .option("--duplicate", "deliver each event twice")
    .option("--reorder", "deliver the newest event first; at least two events")
    .option("--stale", "sign ten minutes ago: the receiver has to reject it")
    .option("--bad-signature", "sign with another secret: the receiver has to reject it");
  addExamples(
    trigger,
    "loyalty-cards trigger balance.changed \\",
    "  --to http://localhost:3000/webhooks/loyalty",
    "loyalty-cards trigger balance.changed --card card_4xW9pL",
    "loyalty-cards trigger balance.changed --set data.balance=500 --duplicate",
    "loyalty-cards trigger ping --bad-signature",
  );
  setAction<TriggerOptions>(cli, trigger, runTrigger);
}

/** The options of each command that sends deliveries. */
export function addReceiverOptions(command: Command): Command {
  return command
    .option("--to <url>", "address of the receiver (default: LOYALTY_WEBHOOK_URL)")
    .option("--secret-env <name>", "another variable that has the signing secret");
}

interface Planned {
  event: ExampleEvent;
  /** A duplicate has the same id, as a retry of the service has. */
  deliveryId: string;
  notes: string[];
}

async function runTrigger(context: Context, options: TriggerOptions, type: string): Promise<number> {
  const { print, environment, timeoutMs } = context;
  const url = readReceiverUrl(options.to, environment);
  const secret = readSecret(environment, options.secretEnv);
  const planned = planDeliveries(type, options);
  if (!knownTypes.includes(type)) {
    const warning = `the service has no event "${type}" (${knownTypes.join(", ")}). It is sent all the same, as a newer service may do.`;
    print.info(text`${style("yellow", "warning:")} ${warning}`.wrap(print.columns, ""));
  }
  if (options.card === undefined && JSON.stringify(planned).includes(exampleCardId))
    print.info(
      `The event is of the example card ${exampleCardId}, which no service has. --card takes the id of a card that your application knows.`,
    );
  const { signWebhook } = await import("@loyalty-cards/webhook-verify");
  const { reportDelivery, sendDelivery } = await import("../webhook/send-delivery.ts");
  const rejection: Rejection | undefined = options.badSignature
    ? "bad-signature"
    : options.stale
      ? "stale"
      : undefined;
  let passed = true;
  for (const { event, deliveryId, notes } of planned) {
    const body = Buffer.from(JSON.stringify(event));
    const signature = await signWebhook({
      rawBody: body,
      secret: options.badSignature ? `whsec_${randomUUID()}` : secret,
      timestamp: Math.floor(Date.now() / 1000) - (options.stale ? staleSeconds : 0),
    });
    const result = await sendDelivery({
      url,
      headers: createHeaders(type, deliveryId, signature),
      body,
      timeoutMs,
    });
    const delivery = { type: String(event.type), id: String(event.id), url, notes, rejection };
    passed = reportDelivery(print, delivery, result) && passed;
  }
  return passed ? exitCodes.complete : exitCodes.failed;
}

/** The deliveries in the order in which they are sent. */
function planDeliveries(type: string, options: TriggerOptions): Planned[] {
  const { card: cardId = exampleCardId, set = [], times, duplicate, reorder, stale, badSignature } = options;
  const count = reorder ? Math.max(2, times) : times;
  const run = randomUUID().slice(0, 8);
  const nowMs = Date.now();
  const notes = [...(stale ? ["signed ten minutes ago"] : []), ...(badSignature ? ["wrong signature"] : [])];
  const events = Array.from({ length: count }, (_, index): Planned => {
    const atMs = nowMs - (count - 1 - index) * 1000;
    const event = createExample(type, { id: `evt_${run}_${index + 1}`, atMs, cardId, index });
    for (const change of set) setMember(event, change);
    const deliveryId = `dlv_${run}_${index + 1}`;
    return { event, deliveryId, notes: [...notes, ...(reorder && index < count - 1 ? ["late"] : [])] };
  });
  if (reorder) events.reverse();
  return events.flatMap((one) => (duplicate ? [one, { ...one, notes: [...one.notes, "duplicate"] }] : [one]));
}
