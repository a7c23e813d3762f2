/** `dev` runs the mock service with its console for a person, until Ctrl-C. `purchase` records a purchase on a card of that service, which then delivers `balance.changed`. */

import type { TemplateField } from "@loyalty-cards/mock-server";
import type { MockServer, TrafficEvent } from "@loyalty-cards/mock-server/node";
import type { Command } from "commander";
import { addExamples, type Cli, type Context, configureOptions, parseWhole, setAction } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readBaseUrl, readNamespace } from "../configuration.ts";
import {
  addServiceOptions,
  type RunningService,
  type ServiceOptions,
  startService,
} from "../mock-service.ts";
import { formatJson, formatTable, style, Text, text } from "../printable.ts";
import { waitForStop } from "../printer.ts";
import { defaultSecretVariable, knownTypes } from "../webhook/delivery.ts";
import { createTrafficLog, type TrafficLog } from "../webhook/traffic-line.ts";

const guideUrl = "https://loyalty-cards.github.io/loyalty-cards/guides/getting-started";

/** Lines of the first output that are below the variables, and those of the header that is repeated. */
const reservedRows = 8;

export function addDevCommand(program: Command, cli: Cli): void {
  const dev = program
    .command("dev")
    .summary("run the mock service with its console, and show each request")
    .description(
      "run the mock service with its console, and show each request and delivery. It prints what to paste into .env, and ends at Ctrl-C",
    );
  addServiceOptions(dev, 4010);
  addExamples(
    dev,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "# the retries after 1 min, 5 min, 30 min, 2 h and 6 h take 9 s in all",
    "loyalty-cards dev --time-factor 3600 \\",
    "  --forward http://localhost:3000/webhooks/loyalty",
  );
  configureOptions(dev, program, { ignored: ["--base-url", "--no-input", "--timeout"] });
  setAction<ServiceOptions>(cli, dev, runDev);
}

async function runDev(context: Context, options: ServiceOptions): Promise<undefined> {
  const { print, terminal } = context;
  let log: TrafficLog | undefined;
  const show = (event: TrafficEvent) => (print.isJson ? print.data(event, () => "") : log?.add(event));
  /** Deliveries of a data file can start before the ready lines are printed. */
  let early: TrafficEvent[] | undefined = [];
  const running = await startService(context, options, (event) =>
    early === undefined ? show(event) : early.push(event),
  );
  try {
    const stopped = waitForStop(terminal);
    log = createTrafficLog({
      columns: print.columns,
      write: (line) => print.info(line),
      header: {
        text: printReady(context, options, running),
        afterLines: Math.max(1, print.messageRows - reservedRows),
      },
    });
    if (!print.isJson) print.info(await describeFirstCard(running.server));
    for (const event of early) show(event);
    early = undefined;
    await stopped;
  } finally {
    await running.server.close();
    log?.end();
  }
  print.info("Stopped.");
  return undefined;
}

/** @returns what to show again when it has scrolled out of the terminal. */
function printReady(
  { print, environment }: Context,
  { data }: ServiceOptions,
  { server: { url, service }, forwarded, signingSecret }: RunningService,
): Text {
  const { apiKeys, templateId } = service;
  const idempotencyNamespace = readNamespace(environment);
  const consoleUrl = `${url}/console`;
  const { factor = 1 } = service.clock.setting(); // a data file keeps that of an earlier start
  const lines = [
    `LOYALTY_URL=${url}`,
    `LOYALTY_API_KEY=${apiKeys.website}`,
    `LOYALTY_TEMPLATE_ID=${templateId}`,
    `LOYALTY_IDEMPOTENCY_NAMESPACE=${quoteVariable(idempotencyNamespace)}`,
    ...(forwarded ? [`LOYALTY_WEBHOOK_URL=${forwarded.url}`] : []),
  ];
  const isSecretKnown = signingSecret === environment[defaultSecretVariable];
  if (signingSecret !== undefined && !isSecretKnown) lines.push(`${defaultSecretVariable}=${signingSecret}`);

  const rows = [
    ["Console", style("cyan", consoleUrl)],
    ["Reference", style("cyan", `${url}/api/docs`)],
    ["Guide", style("cyan", guideUrl)],
    forwarded
      ? ["Webhooks", `${describeEvents(forwarded.events)} to ${forwarded.url}`]
      : ["Webhooks", style("dim", "none; see --forward http://localhost:3000/webhooks/loyalty")],
    ...(data === undefined ? [] : [["Data", data]]),
    ...(factor === 1 ? [] : [["Clock", `${factor} times as fast as real time`]]),
  ];
  if (!print.isJson) {
    print.info(
      text`${style("bold", "Loyalty cards")}: the mock service runs. Ctrl-C stops it.\n\n${formatTable(rows)}\n`,
    );
    print.info(style("dim", "# Paste into .env"));
  }
  print.data(
    {
      kind: "ready",
      baseUrl: url,
      apiKeys,
      templateId,
      idempotencyNamespace,
      console: consoleUrl,
      ...(forwarded && { forwarded }),
    },
    () => Text.lines(lines),
  );
  if (!print.isJson) {
    if (signingSecret !== undefined && isSecretKnown)
      print.info(style("dim", `# ${defaultSecretVariable} is the one that you have set.`));
    print.info("");
  }
  const repeated = lines.filter((line) => /^LOYALTY_(URL|API_KEY|SIGNING_SECRET)=/.test(line));
  return Text.lines(["", style("dim", "# Again, for .env"), ...repeated, ""]);
}

/** Quotes a value for `.env` files and shells when it needs quotes. */
const quoteVariable = (value: string) => (/^[\w.:/-]*$/.test(value) ? value : `"${value}"`);

/** A request to paste into another terminal. It needs nothing but curl, so that it works in an empty folder. */
async function describeFirstCard({ url, service }: MockServer): Promise<Text> {
  const response = await fetch(`${url}/_mock/templates`);
  const { items } = (await response.json()) as { items: { id: string; fields: TemplateField[] }[] };
  const required = (items.find(({ id }) => id === service.templateId)?.fields ?? []).filter(
    (field) => field.required,
  );
  const values = required.map(({ key, type }) => [key, type === "number" ? 1 : "Anna"]);
  const card = {
    customer: { name: "Anna", consents: { privacy: { version: "1" } } },
    ...(values.length > 0 && { fieldValues: Object.fromEntries(values) }),
  };
  return Text.lines([
    style("dim", "# Paste into another terminal: it issues a card"),
    `curl ${url}/api/v1/templates/${encodeURIComponent(service.templateId)}/passes \\`,
    `  -H "Authorization: Bearer ${service.apiKeys.website}" -H "Idempotency-Key: first" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${formatJson(card).replaceAll("'", "'\\''")}'`,
    style("dim", "# Open the card's publicUrl, and record a purchase in the console."),
    "",
  ]);
}

const describeEvents = (events: readonly string[]) =>
  events.length === knownTypes.length ? "all events" : events.join(", ");

export function addPurchaseCommand(program: Command, cli: Cli): void {
  const purchase = program
    .command("purchase")
    .summary("record a purchase on a card of the mock service")
    .description(
      "record a purchase on a card of the mock service that `dev` runs. The service stores it, and delivers balance.changed with the new balance",
    )
    .argument("<card-id>", "id of a card that the mock service has")
    .argument("<points>", "points that the purchase adds", parseWhole(1));
  addExamples(
    purchase,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "# in another terminal",
    "loyalty-cards purchase card_8sT2kq 120",
  );
  setAction(cli, purchase, runPurchase);
}

interface Operation {
  id: string;
  change: number;
  balance: number;
}

async function runPurchase(
  { print, environment, globals, timeoutMs }: Context,
  _options: object,
  cardId: string,
  points: number,
): Promise<undefined> {
  const baseUrl = readBaseUrl(globals.baseUrl, environment).replace(/\/+$/, "");
  const call = (path: string, init: RequestInit = {}) => callMock(`${baseUrl}/_mock${path}`, timeoutMs, init);
  const health = await call("/health");
  const { status } = health.ok ? ((await health.json().catch(() => ({}))) as { status?: unknown }) : {};
  // Without this check a real service would get the request.
  if (status !== "ok")
    throw new CommandError(
      "This address is not a mock service: purchases of a real service come from its tills",
      {
        fix: "Run `loyalty-cards dev`, and set LOYALTY_URL to the address that it prints.",
      },
    );
  const response = await call(`/cards/${encodeURIComponent(cardId)}/purchase`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ points }),
  });
  if (!response.ok) {
    const { detail } = (await response.json().catch(() => ({}))) as { detail?: string };
    throw new CommandError(detail ?? `The mock service responded ${response.status}.`, {
      exitCode: exitCodes.failed,
    });
  }
  const operation = (await response.json()) as Operation;
  const { id, change, balance } = operation;
  print.data(operation, () => text`Purchase of ${change} points: the balance is ${balance} (${id})`);
  return undefined;
}

/** Sends no API key: the control API needs none. @throws {CommandError} when there is no response. */
async function callMock(url: string, timeoutMs: number, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  } catch {
    throw new CommandError("The mock service does not respond", {
      exitCode: exitCodes.failed,
      fix: "Run `loyalty-cards dev`, and set LOYALTY_URL to the address that it prints.",
    });
  }
}
