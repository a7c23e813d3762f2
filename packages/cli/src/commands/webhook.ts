/**
 * `trigger` and `webhook`: declares the commands that send an event to a receiver, verify and sign
 * deliveries, examine a receiver, and connect a tunnel with it.
 */
import { eventTypes } from "@loyalty-cards/openapi/events";
import { Argument, type Command, Option } from "commander";
import { addExamples, type Cli, parseText, parseWhole, setAction } from "../command.ts";

const tolerance = [
  "--tolerance <seconds>",
  "how far `t` may differ from the time",
  parseWhole(0, 86_400),
  300,
] as const;
const body = ["--body <file>", "the raw body; - reads it from stdin", parseText] as const;

const receiverOption = [
  "--to <url>",
  "address of the receiver (default: LOYALTY_WEBHOOK_URL)",
] as const;

/** The card of the examples in the documentation. */
const exampleCardId = "card_8sT2kq";

export function addTriggerCommand(program: Command, cli: Cli): void {
  const card = new Option("--card <id>", "the card of the event");
  card.default(exampleCardId, `${exampleCardId}, which no service has`);
  const trigger = program
    .command("trigger")
    .description("send a signed event to a receiver")
    .addArgument(new Argument("<event>", "type of the event").choices(eventTypes))
    .option(...receiverOption)
    .addOption(card)
    .option("--duplicate", "deliver the event twice, as a retry of the service does");
  addExamples(
    trigger,
    "loyalty-cards trigger balance.changed \\",
    "  --to http://localhost:3000/webhooks/loyalty",
    "loyalty-cards trigger balance.changed --card card_4xW9pL --duplicate",
  );
  setAction(cli, trigger, async () => (await import("../webhook/trigger.ts")).runTrigger);
}

export function addWebhookCommands(program: Command, cli: Cli): void {
  const webhook = program.command("webhook").description("verify, sign and receive webhooks");
  webhook.helpCommand("help [command]", "print the help of a command");
  addExamples(webhook, "loyalty-cards webhook doctor http://localhost:3000/webhooks/loyalty");

  addVerifyCommand(webhook, cli);
  addSignCommand(webhook, cli);
  addReceiverCheckCommand(webhook, cli);
  addListenCommand(webhook, cli);
}

function addVerifyCommand(webhook: Command, cli: Cli): void {
  const verify = webhook
    .command("verify")
    .description("verify a captured delivery, and say why it fails")
    .requiredOption(...body)
    .option("--signature <header>", "the value of the Service-Signature header")
    .option("--at <time>", "verify at this time: ISO 8601 or unix seconds (default: now)")
    .option(...tolerance);
  addExamples(
    verify,
    "loyalty-cards webhook verify --body body.json --signature 't=1767…,v1=5f8a…'",
  );
  setAction(cli, verify, async () => (await import("../webhook/verify.ts")).runVerify);
}

function addSignCommand(webhook: Command, cli: Cli): void {
  const sign = webhook
    .command("sign")
    .description("print the signature header of a body")
    .requiredOption(...body)
    .option("--at <time>", "sign at this time: ISO 8601 or unix seconds (default: now)");
  addExamples(
    sign,
    "curl http://localhost:3000/webhooks/loyalty --data-binary @body.json \\",
    '  -H "$(loyalty-cards webhook sign --body body.json)"',
  );
  setAction(cli, sign, async () => (await import("../webhook/verify.ts")).runSign);
}

function addReceiverCheckCommand(webhook: Command, cli: Cli): void {
  const receiverCheck = webhook
    .command("doctor")
    .summary("examine a running receiver")
    .description(
      "examine a running receiver with valid and invalid deliveries. Not for production: they are accepted as real events of --card",
    )
    .argument("[url]", "address of the receiver (default: LOYALTY_WEBHOOK_URL)")
    .option("--card <id>", "the card of its balance.changed events")
    .option("--verbose", "print the checks that passed too")
    .option(...tolerance);
  addExamples(
    receiverCheck,
    "loyalty-cards webhook doctor http://localhost:3000/webhooks/loyalty",
    "loyalty-cards webhook doctor --json | jq .passed",
  );
  setAction(
    cli,
    receiverCheck,
    async () => (await import("../webhook/check-receiver.ts")).runReceiverCheck,
  );
}

function addListenCommand(webhook: Command, cli: Cli): void {
  const listen = webhook
    .command("listen")
    .description("verify what a tunnel delivers, and forward it to a local receiver, until Ctrl-C")
    .option("--port <number>", "port to listen on; 0: any free port", parseWhole(0, 65_535), 4020)
    .option(...receiverOption)
    .option(...tolerance);
  addExamples(
    listen,
    "loyalty-cards webhook listen --to http://localhost:3000/webhooks/loyalty",
    "# in another terminal; enter its address in the service's console",
    "cloudflared tunnel --url http://127.0.0.1:4020",
  );
  setAction(cli, listen, async () => (await import("../webhook/listen.ts")).runListen);
}
