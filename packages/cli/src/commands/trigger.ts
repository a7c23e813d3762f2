/** `trigger`: sends signed example events to a receiver, also twice, in the wrong order, and with signatures that it has to reject. */
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { addExamples, type Cli, type Context, collect, setAction } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { style, Text, text } from "../printable.ts";
import { createExample, type ExampleEvent, knownTypes, setMember } from "../webhook/events.ts";
import type { DeliveryResult } from "../webhook/receiver.ts";

interface TriggerOptions {
  to?: string;
  secretEnv?: string;
  card?: string;
  set?: string[];
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
    .option("--set <path=value>", "change a member, such as data.balance=7; repeatable", collect)
    .option("--duplicate", "deliver each event twice")
    .option("--reorder", "deliver a newer event first")
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
  const { card, badSignature, stale } = options;
  const receiver = await import("../webhook/receiver.ts");
  const { signWebhook } = await import("@loyalty-cards/webhook-verify");
  const url = receiver.readReceiverUrl(options.to, environment);
  const secret = receiver.readSecret(environment, options.secretEnv);
  const planned = planDeliveries(type, options);
  if (!knownTypes.some((known) => known === type)) {
    const warning = `the service has no event "${type}" (${knownTypes.join(", ")}). It is sent all the same, as a newer service may do.`;
    print.info(text`${style("yellow", "warning:")} ${warning}`.reflow(print.columns));
  }
  if (card === undefined && JSON.stringify(planned).includes(exampleCardId))
    print.info(
      `The event is of the example card ${exampleCardId}, which no service has. --card takes the id of a card that your application knows.`,
    );
  let exitCode: number = exitCodes.complete;
  for (const { event, deliveryId, notes } of planned) {
    const body = Buffer.from(JSON.stringify(event));
    const signature = await signWebhook({
      rawBody: body,
      secret: badSignature ? `whsec_${randomUUID()}` : secret,
      timestamp: Math.floor(Date.now() / 1000) - (stale ? staleSeconds : 0),
    });
    const headers = receiver.createHeaders(type, deliveryId, signature);
    const result = await receiver.sendDelivery({ url, headers, body, timeoutMs });
    const advice =
      "status" in result
        ? findAdvice(result.status, url, options)
        : receiver.describeNoResponse(result.error, url);
    if (advice !== undefined) exitCode = exitCodes.failed;
    const { durationMs } = result;
    const outcome = "status" in result ? { status: result.status } : { error: result.error };
    const expected = badSignature || stale ? "4xx" : "2xx";
    const sent = { type: String(event.type), id: String(event.id), notes };
    print.data(
      { ...sent, expected, ...outcome, durationMs, passed: advice === undefined, ...(advice && { advice }) },
      () =>
        Text.lines([
          formatDelivery(sent, result, advice === undefined).reflow(print.dataColumns, "    "),
          ...(advice === undefined ? [] : [text`    ${advice}`.reflow(print.columns)]),
        ]),
    );
  }
  return exitCode;
}

/** The deliveries in the order in which they are sent. */
function planDeliveries(type: string, options: TriggerOptions): Planned[] {
  const { card: cardId = exampleCardId, set = [], duplicate, reorder, stale, badSignature } = options;
  const run = randomUUID().slice(0, 8);
  const nowMs = Date.now();
  const common = [...(stale ? ["signed ten minutes ago"] : []), ...(badSignature ? ["wrong signature"] : [])];
  const plan = (index: number, notes: string[]): Planned => {
    const event = createExample(type, {
      id: `evt_${run}_${index + 1}`,
      atMs: nowMs - 1000 * (1 - index),
      cardId,
      index,
    });
    for (const change of set) setMember(event, change);
    return { event, deliveryId: `dlv_${run}_${index + 1}`, notes: [...common, ...notes] };
  };
  const events = reorder ? [plan(1, []), plan(0, ["late"])] : [plan(0, [])];
  return events.flatMap((one) => (duplicate ? [one, { ...one, notes: [...one.notes, "duplicate"] }] : [one]));
}

/** `✓ 204   9 ms  balance.changed evt_8sT2kq_1 duplicate`. */
function formatDelivery(
  { type, id, notes }: { type: string; id: string; notes: readonly string[] },
  result: DeliveryResult,
  passed: boolean,
): Text {
  const [color, mark] = passed ? (["green", "✓"] as const) : (["red", "✗"] as const);
  const [status, errors] = "status" in result ? [String(result.status), []] : ["---", [result.error]];
  const time = style("dim", `${result.durationMs} ms`.padStart(7));
  const remarks = [...notes, ...errors].join(", ");
  return text`${style(color, `${mark} ${status}`)} ${time}  ${style("bold", type)} ${id} ${remarks && style("dim", remarks)}`.trimEnd();
}

/** What to change; undefined when the status is as it should be. */
function findAdvice(status: number, url: URL, { badSignature, stale }: TriggerOptions): string | undefined {
  const statusClass = Math.floor(status / 100);
  if (statusClass === 3) return "The service does not follow redirects: use the final address."; // spec 6.3.5
  if (status === 404 || status === 405)
    return `Nothing receives POST at ${url.pathname}: correct the address, or mount the receiver there.`;
  if (badSignature || stale) {
    if (statusClass === 4) return undefined;
    if (statusClass !== 2) return "The receiver failed instead of rejecting the delivery: respond 401.";
    return badSignature
      ? "The receiver accepted a wrong signature, so anybody can send it events: verify the raw body before you use it." // spec 5.7
      : "The receiver accepted a delivery that was signed ten minutes ago: reject a `t` that is more than 300 s old."; // spec 5.7
  }
  if (statusClass === 2) return undefined;
  if (status === 401 || status === 403)
    return "The receiver rejected the signature: does it use the same secret, and the raw body? `loyalty-cards webhook doctor` finds the cause.";
  if (statusClass === 5)
    return "The receiver failed: see its log. The service would deliver the event again.";
  return "The service counts every response except 2xx as a failure, and delivers the event again.";
}
