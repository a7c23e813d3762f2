/** `dev`: runs the mock service with its console for a person, until Ctrl-C. */
import type { MockServer } from "@loyalty-cards/mock-server/node";
import type { Command } from "commander";
import { addExamples, type Cli, type Context, setAction } from "../command.ts";
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
  setAction(cli, dev, async () => runDev);
}

async function runDev(context: Context, options: ServiceOptions): Promise<undefined> {
  const { print, terminal } = context;
  const server = await startService(context, options, (event, hasSeveral) =>
    print.isJson ? print.data(event, () => "") : printTraffic(print, event, hasSeveral),
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
  const consoleUrl = `${url}/console`;
  if (print.isJson) {
    const forwarded = endpoint && { url: endpoint.url, secret: endpoint.secret };
    const ready = { kind: "ready", baseUrl: url, apiKeys, templateId };
    print.data({ ...ready, console: consoleUrl, forwarded }, () => "");
    return;
  }
  const rows = [
    ["Console", style("cyan", consoleUrl)],
    ["Reference", style("cyan", `${url}/api/docs`)],
    [
      "Webhooks",
      endpoint?.url ?? style("dim", "none; see --forward http://localhost:3000/webhooks/loyalty"),
    ],
    ["Data", data ?? style("dim", "lost when it stops; --data shop.json keeps the cards")],
  ];
  print.info(
    text`${style("bold", "Loyalty cards")}: the mock service runs. Ctrl-C stops it.\n\n${formatTable(rows)}\n`,
  );
  const { use, prefix, next } =
    terminal.env.npm_package_name === "loyalty-cards" ? inClone : inProject;
  const isSecretKnown =
    endpoint !== undefined && endpoint.secret === environment.LOYALTY_SIGNING_SECRET;
  const variables = listVariables({ url, service }, isSecretKnown);
  print.info(style("dim", use));
  print.data(undefined, () => Text.lines(variables.map((line) => `${prefix}${line}`)));
  if (isSecretKnown)
    print.info(style("dim", "# LOYALTY_SIGNING_SECRET is the one that you have set."));
  print.info(text`${style("dim", next)}\n`);
}

/** The variables that a program needs, as lines of .env. */
function listVariables(
  { url, service }: Pick<MockServer, "url" | "service">,
  isSecretKnown: boolean,
): string[] {
  const { apiKeys, templateId, endpoints } = service;
  const [endpoint] = endpoints;
  const lines = [`LOYALTY_URL=${url}`];
  // A data file of which every website key is revoked has none.
  if (apiKeys.website) lines.push(`LOYALTY_API_KEY=${apiKeys.website}`);
  lines.push(`LOYALTY_TEMPLATE_ID=${templateId}`);
  if (endpoint !== undefined) lines.push(`LOYALTY_WEBHOOK_URL=${endpoint.url}`);
  if (endpoint !== undefined && !isSecretKnown)
    lines.push(`LOYALTY_SIGNING_SECRET=${endpoint.secret}`);
  return lines;
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
