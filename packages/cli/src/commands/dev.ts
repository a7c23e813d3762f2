/**
 * `dev` runs the mock service with its console for a person, until Ctrl-C. `purchase` records a
 * purchase on a card of that service, which then delivers `balance.changed`.
 */
import type { Operation } from "@loyalty-cards/mock-server";
import type { MockServer } from "@loyalty-cards/mock-server/node";
import { type Command, InvalidArgumentError } from "commander";
import { addExamples, type Cli, type Context, parseWhole, setAction } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readBaseUrl } from "../configuration.ts";
import { addServiceOptions, type ServiceOptions, startService } from "../mock-service.ts";
import { formatTable, style, Text, text } from "../printable.ts";
import { waitForStop } from "../printer.ts";
import { printTraffic } from "../traffic-line.ts";

export function addDevCommand(program: Command, cli: Cli): void {
  const dev = program
    .command("dev")
    .summary("run the mock service with its console, until Ctrl-C")
    .description(
      "run the mock service with its console, until Ctrl-C. Its API key is mock_website_key, unless the file of --data has another. --forward signs with LOYALTY_SIGNING_SECRET of the environment or of .env; without it, a secret is printed",
    );
  addServiceOptions(dev, 4010);
  addExamples(
    dev,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "loyalty-cards dev --data shop.json --port 4011",
  );
  setAction<ServiceOptions>(cli, dev, runDev);
}

async function runDev(context: Context, options: ServiceOptions): Promise<undefined> {
  const { print, terminal } = context;
  const server = await startService(context, options, (event) =>
    print.isJson ? print.data(event, () => "") : printTraffic(print, event),
  );
  try {
    const stopped = waitForStop(terminal);
    printReady(context, options, server);
    await stopped;
  } finally {
    await server.close();
  }
  print.info("Stopped.");
}

function printReady(
  { print, environment, terminal }: Context,
  { data }: ServiceOptions,
  { url, service }: MockServer,
): void {
  const { apiKeys, templateId, endpoints } = service;
  const [endpoint] = endpoints;
  const console = `${url}/console`;
  if (print.isJson) {
    const forwarded = endpoint && { url: endpoint.url, secret: endpoint.secret };
    const ready = { kind: "ready", baseUrl: url, apiKeys, templateId, console, forwarded };
    print.data(ready, () => "");
    return;
  }
  const rows = [
    ["Console", style("cyan", console)],
    ["Reference", style("cyan", `${url}/api/docs`)],
    [
      "Webhooks",
      endpoint?.url ?? style("dim", "none; see --forward http://localhost:3000/webhooks/loyalty"),
    ],
    ["Data", data ?? style("dim", "lost when it stops; --data shop.json keeps the cards")],
  ];
  const isSecretKnown =
    endpoint !== undefined && endpoint.secret === environment.LOYALTY_SIGNING_SECRET;
  const lines = [
    `LOYALTY_URL=${url}`,
    // A data file of which every website key is revoked has none.
    ...(apiKeys.website ? [`LOYALTY_API_KEY=${apiKeys.website}`] : []),
    `LOYALTY_TEMPLATE_ID=${templateId}`,
    ...(endpoint ? [`LOYALTY_WEBHOOK_URL=${endpoint.url}`] : []),
    ...(endpoint && !isSecretKnown ? [`LOYALTY_SIGNING_SECRET=${endpoint.secret}`] : []),
  ];
  print.info(
    text`${style("bold", "Loyalty cards")}: the mock service runs. Ctrl-C stops it.\n\n${formatTable(rows)}\n`,
  );
  const { use, prefix, next } =
    terminal.env.npm_package_name === "loyalty-cards" ? inClone : inProject;
  print.info(style("dim", use));
  print.data(undefined, () => Text.lines(lines.map((line) => `${prefix}${line}`)));
  if (isSecretKnown)
    print.info(style("dim", "# LOYALTY_SIGNING_SECRET is the one that you have set."));
  print.info(text`${style("dim", next)}\n`);
}

const inProject = {
  use: "# Paste into .env",
  prefix: "",
  next: "# Then issue a card: npx loyalty-cards issue --user-id 7 --privacy 1",
} as const;
/** After `npm run dev`, which has the name of the repository's package. */
const inClone = {
  use: "# Paste into another terminal",
  prefix: "export ",
  next: "# Then issue a card there: npm run first-card",
} as const;

export function addPurchaseCommand(program: Command, cli: Cli): void {
  const purchase = program
    .command("purchase")
    .description("record a purchase at the mock service")
    .argument("<card-id>", "id of a card that the mock service has")
    .argument("<points>", "points that the purchase adds", parsePoints);
  addExamples(
    purchase,
    "loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    "# in another terminal",
    "loyalty-cards purchase card_8sT2kq 120",
  );
  setAction(cli, purchase, runPurchase);
}

function parsePoints(value: string): number {
  if (Number.isNaN(Number(value)))
    throw new InvalidArgumentError("The card comes first: purchase CARD POINTS.");
  return parseWhole(1)(value);
}

const devAdvice = "Run `loyalty-cards dev`, and set LOYALTY_URL to the address that it prints.";
const dataAdvice = "dev forgets its cards when it stops; --data FILE keeps them.";

async function runPurchase(
  { print, environment, globals, timeoutMs }: Context,
  _options: object,
  cardId: string,
  points: number,
): Promise<undefined> {
  const baseUrl = readBaseUrl(globals.baseUrl, environment).replace(/\/+$/, "");
  /** Sends no API key: the control API needs none. */
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${baseUrl}/_mock${path}`, {
      ...init,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => {
      const problem = "The mock service does not respond";
      throw new CommandError(problem, { exitCode: exitCodes.failed, fix: devAdvice });
    });
  const health = await call("/health");
  const { status } = health.ok
    ? ((await health.json().catch(() => ({}))) as { status?: unknown })
    : {};
  // Without this check a real service would get the request.
  if (status !== "ok")
    throw new CommandError(
      "This address is not a mock service: purchases of a real service come from its tills",
      { fix: devAdvice },
    );
  const response = await call(`/cards/${encodeURIComponent(cardId)}/purchase`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ points }),
  });
  const body = (await response.json().catch(() => ({}))) as Operation & { detail?: string };
  if (!response.ok) {
    const problem = body.detail ?? `The mock service responded ${response.status}.`;
    const advice = response.status === 404 ? ` ${dataAdvice}` : "";
    throw new CommandError(problem + advice, { exitCode: exitCodes.failed });
  }
  const { id, change, balance } = body;
  print.data(body, () => text`Purchase of ${change} points: the balance is ${balance} (${id})`);
}
