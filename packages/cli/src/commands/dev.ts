/** `dev` and `exec`: the mock service with its console on this machine, for a person or while a command runs. */
import { resolve } from "node:path";
import type { TemplateField } from "@loyalty-cards/mock-server";
import type { Exchange, MockServer, Seed } from "@loyalty-cards/mock-server/node";
import { type Command, InvalidArgumentError } from "commander";
import { addExamples, type Cli, type Context, parseWhole, setAction } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { readNamespace } from "../configuration.ts";
import { formatJson, formatTable, style, Text, text } from "../printable.ts";
import { knownTypes } from "../webhook/events.ts";
import { defaultSecretVariable } from "../webhook/receiver.ts";

const guidesUrl = "https://github.com/loyalty-cards/loyalty-cards#documentation";

/** What the options of the service declare; it validates the names. */
type EventTypes = NonNullable<Seed["endpoints"]>[number]["events"];

interface ServerOptions {
  port: number;
  seed?: string;
  data?: string;
  forward?: string;
  events?: string[];
  timeFactor?: number;
}

export function addDevCommands(program: Command, cli: Cli): void {
  const dev = program
    .command("dev")
    .summary("run the mock service with its console, and show each request")
    .description(
      "run the mock service with its console, and show each request and delivery. It prints what to paste into .env, and ends at Ctrl-C",
    );
  addServerOptions(dev, 4010);
  addExamples(
    dev,
    "loyalty-cards dev --forward http://localhost:3000/webhooks",
    "# the retries after 1 min, 5 min, 30 min, 2 h and 6 h take 9 s in all",
    "loyalty-cards dev --forward http://localhost:3000/webhooks --time-factor 3600",
  );
  setAction<ServerOptions>(cli, dev, runDev);

  const exec = program
    .command("exec")
    .summary("run a command while the mock service runs")
    .description(
      "run a command while the mock service runs, with LOYALTY_URL, LOYALTY_API_KEY, LOYALTY_FULL_API_KEY, LOYALTY_TEMPLATE_ID and LOYALTY_CONSOLE_URL in its environment; with --forward also LOYALTY_SIGNING_SECRET. The exit code is that of the command; 128 and the number of the signal that ended it; 127 or 126 when it cannot be started",
    )
    .usage("[options] -- <command...>")
    .argument("<command...>", "the command and its arguments, after two dashes");
  addServerOptions(exec, 0);
  addExamples(
    exec,
    "loyalty-cards exec -- npm test",
    "loyalty-cards exec --seed shop.json --quiet -- npx playwright test",
  );
  setAction<ServerOptions>(cli, exec, runExec);
}

function addServerOptions(command: Command, port: number): void {
  command
    .option("--port <number>", "port to listen on; 0: any free port", parseWhole(0, 65_535), port)
    .option("--seed <file>", "JSON file with templates and webhook endpoints")
    .option("--data <file>", "store everything in this file; an existing one\ntakes precedence over --seed")
    .option("--forward <url>", "send webhooks to this address")
    .option("--events <types>", "with --forward: only these, separated by commas", parseList)
    .option("--time-factor <number>", "run the service's clock this many times as fast", parseFactor);
}

function parseList(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

function parseFactor(text: string): number {
  const factor = Number(text);
  if (factor > 0 && factor <= 1_000_000) return factor;
  throw new InvalidArgumentError("It must be a number above 0, at most 1000000.");
}

async function runDev(context: Context, options: ServerOptions): Promise<undefined> {
  const { print, terminal } = context;
  const { watchParent } = await import("@loyalty-cards/mock-server/node");
  const line = await createLine(context);
  const show = (exchange: Exchange) =>
    print.isJson ? print.data(exchange, () => "") : print.info(line(exchange));
  /** Deliveries of a data file can start before the ready lines are printed. */
  let early: Exchange[] | undefined = [];
  const { server, forwarded } = await start(context, options, (exchange) =>
    early === undefined ? show(exchange) : early.push(exchange),
  );
  const stopped = new Promise<void>((stop) => {
    const remove = terminal.onInterrupt(() => {
      remove(); // a second Ctrl-C ends the process at once
      stop();
    });
    watchParent(stop);
  });
  printReady(context, options, server, forwarded);
  if (!print.isJson) print.info(await describeFirstCard(server));
  for (const exchange of early) show(exchange);
  early = undefined;
  await stopped;
  await server.close();
  print.info("Stopped.");
  return undefined;
}

async function runExec(context: Context, options: ServerOptions, words: string[]): Promise<number> {
  const { createEnvironment, runCommand } = await import("@loyalty-cards/mock-server/node");
  const line = await createLine(context);
  // On stderr also with --json: stdout belongs to the command.
  const { server, forwarded } = await start(context, options, (exchange) =>
    context.print.info(line(exchange)),
  );
  const [program = "", ...args] = words;
  const secret = forwarded && { [defaultSecretVariable]: forwarded.secret }; // a data file can have older endpoints
  const namespace = { LOYALTY_IDEMPOTENCY_NAMESPACE: readNamespace(context.environment) };
  try {
    return await runCommand(server, program, args, { ...createEnvironment(server), ...namespace, ...secret });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // As shells do: it does not exist, or it is not a program.
    throw new CommandError(`The command cannot be run: ${message}.`, code === "ENOENT" ? 127 : 126);
  } finally {
    await server.close();
  }
}

async function createLine({ print }: Context): Promise<(exchange: Exchange) => Text> {
  const { formatExchange } = await import("../webhook/exchange-line.ts");
  return (exchange) => formatExchange(print.columns, exchange, Date.now());
}

/** The endpoint of `--forward`. */
interface Forwarded {
  url: string;
  events: readonly string[];
  secret: string;
}

/** @throws {CommandError} for a port in use, and for options and files that the service refuses. */
async function start(
  { print, environment, terminal }: Context,
  options: ServerOptions,
  onExchange: (exchange: Exchange) => void,
): Promise<{ server: MockServer; forwarded?: Forwarded }> {
  const { readSeed, startMockServer } = await import("@loyalty-cards/mock-server/node");
  const { port, data, forward, events, timeFactor } = options;
  if (events !== undefined && forward === undefined) throw new CommandError("--events needs --forward.");
  let server: MockServer | undefined;
  try {
    const seed: Seed = options.seed === undefined ? {} : readSeed(resolve(terminal.cwd, options.seed));
    if (forward !== undefined) {
      // The secret of .env, if there is one: then it stays the same when the service starts again.
      const secret = environment[defaultSecretVariable];
      const endpoint = {
        url: forward,
        events: (events ?? knownTypes) as EventTypes,
        ...(secret && { secret }),
      };
      seed.endpoints = [endpoint, ...(seed.endpoints ?? [])];
    }
    server = await startMockServer({
      ...seed,
      port,
      ...(data !== undefined && { data: resolve(terminal.cwd, data) }),
      log: (message) => print.info(style("yellow", message)),
      onExchange,
    });
    if (timeFactor !== undefined) server.service.clock.set({ mode: "scaled", factor: timeFactor });
    return forward === undefined
      ? { server }
      : { server, forwarded: await findForwarded(server, forward, events) };
  } catch (error) {
    await server?.close();
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE")
      throw new CommandError((error as Error).message);
    throw new CommandError(
      `Port ${port} is in use, perhaps by another mock service: stop that program, or use --port; --port 0 takes a free one.`,
    );
  }
}

/** Finds the endpoint, with the secret that it has. A data file may have it from an earlier start, or may have been created without it. */
async function findForwarded(
  { url: baseUrl, service }: MockServer,
  url: string,
  events: string[] | undefined,
): Promise<Forwarded> {
  const get = async (path: string) => (await fetch(`${baseUrl}/_mock/webhooks/endpoints${path}`)).json();
  const { items } = (await get("")) as { items: { id: string; url: string; events: string[] }[] };
  const known = items.find((item) => item.url === url);
  if (known === undefined) {
    const all = (events ?? knownTypes) as EventTypes;
    return { url, events: all, secret: service.webhooks.createEndpoint({ url, events: all }).secret };
  }
  const changed = events && service.webhooks.updateEndpoint(known.id, { events: events as EventTypes });
  const { secret } = (await get(`/${known.id}/secret`)) as { secret: string };
  return { url, events: changed?.events ?? known.events, secret };
}

function printReady(
  { print, environment }: Context,
  { timeFactor, data }: ServerOptions,
  { url, service }: MockServer,
  forwarded: Forwarded | undefined,
): void {
  const { apiKeys, templateId, endpoints } = service;
  const idempotencyNamespace = readNamespace(environment);
  const consoleUrl = `${url}/console`;
  const lines = [
    `LOYALTY_URL=${url}`,
    `LOYALTY_API_KEY=${apiKeys.website}`,
    `LOYALTY_TEMPLATE_ID=${templateId}`,
    `LOYALTY_IDEMPOTENCY_NAMESPACE=${quoteVariable(idempotencyNamespace)}`,
    ...(forwarded ? [`LOYALTY_WEBHOOK_URL=${forwarded.url}`] : []),
  ];
  const secret = forwarded?.secret ?? endpoints[0]?.secret;
  const isSecretKnown = secret === environment[defaultSecretVariable];
  if (secret !== undefined && !isSecretKnown) lines.push(`${defaultSecretVariable}=${secret}`);

  const rows = [
    ["Console", style("cyan", consoleUrl)],
    ["Reference", style("cyan", `${url}/api/docs`)],
    ["Guides", style("cyan", guidesUrl)],
    forwarded
      ? ["Webhooks", `${describeEvents(forwarded.events)} to ${forwarded.url}`]
      : ["Webhooks", style("dim", "none; --forward http://localhost:3000/webhooks sends them there")],
    ...(data === undefined ? [] : [["Data", data]]),
    ...(timeFactor === undefined ? [] : [["Clock", `${timeFactor} times as fast as real time`]]),
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
    if (secret !== undefined && isSecretKnown)
      print.info(style("dim", `# ${defaultSecretVariable} is the one that you have set.`));
    print.info("");
  }
}

/** For .env and shells. */
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
