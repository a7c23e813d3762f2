/** Control characters of a customer, a service, a file or a command line reach no terminal: each command, and each field that it reads. */
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import type { Command } from "commander";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProgram } from "../src/main.ts";
import type { Terminal } from "../src/terminal.ts";
import { createFolder, listen, parseLines, run, secret, start } from "./terminal.ts";

/** Writes the clipboard, hides text, moves the cursor, begins a line of its own, and reverses text. */
const attack = "\u001b]52;c;Zm9v\u0007\u001b[8m\u009b31m\b\r\nSPOOFED\u0085\u2028\u2029\u202e\u2066\u007f";

/** A value that the output can be searched for. */
const hostile = (field: string) => `<${field}>${attack}`;

/** What is left of the output without the colors and the status lines of the command. */
function findControls(output: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched for
  const own = /\u001b\[(?!8m)[\d;]+m|\r(?:\u001b\[1A\u001b\[2K)+/g;
  return output.replace(own, "").match(/[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]|^SPOOFED/gmu) ?? [];
}

type Output = { stdout: string; stderr: string };

interface Mode {
  args: string[];
  isTTY: boolean;
}

const modes: Record<string, Mode> = {
  "into a pipe": { args: [], isTTY: false },
  "to a terminal": { args: [], isTTY: true },
  "as JSON": { args: ["--json"], isTTY: false },
};

/** Runs a command with hostile values. */
type Scenario = (mode: Mode) => Promise<Output>;

interface Row {
  /** What the scenario shows. */
  from: string;
  /** The fields that the text has; the JSON too, unless `json` names others. */
  fields: readonly string[];
  json?: readonly string[];
  run: Scenario;
}

const cardFields = ["id", "publicUrl", "status", "customerId", "loyaltyBalance", "loyaltyTier", "issuedVia"];
const card = {
  ...Object.fromEntries(cardFields.map((name) => [name, hostile(name)])),
  loyaltyBalance: 5, // a number of the contract
  publicUrl: `https://cards.example.com/${hostile("publicUrl")}`,
  fieldValues: { [hostile("fieldKey")]: hostile("fieldValue") },
};
const allCardFields = [...cardFields.filter((name) => name !== "loyaltyBalance"), "fieldKey", "fieldValue"];
const operationFields = ["id", "type", "createdAt"];
const operation = Object.fromEntries(operationFields.map((name) => [name, hostile(name)]));
const consent = { customer: { name: hostile("customer") }, marketingConsent: true };
const problem = (status: number) => ({
  type: hostile("type"),
  title: hostile("title"),
  status,
  detail: hostile("detail"),
  errors: [{ pointer: `/fieldValues/${hostile("pointer")}`, detail: hostile("fieldDetail") }],
});

/** The contract with another path. */
function createDocument() {
  const document = structuredClone(openapi) as { paths: Record<string, unknown>; components: unknown };
  const [[path = "", item] = []] = Object.entries(document.paths);
  delete document.paths[path];
  document.paths[`/${hostile("path")}`] = item;
  return document;
}

/** A service all of whose values are hostile. @param status of the responses, other than that of the document. */
async function openService(status = 200): Promise<Record<string, string>> {
  const bodies: [RegExp, unknown][] = [
    [/\/docs\/json$/, createDocument()],
    [/\/_mock\/health$/, { status: "ok" }],
    [/\/purchase$/, { ...operation, change: 120, balance: 120 }],
    [/\/operations/, { items: [operation] }],
    [/\/consent$/, consent],
    [/./, card],
  ];
  const server = createServer((request, response) => {
    const url = request.url ?? "";
    const isDocument = url.endsWith("/docs/json");
    const isRejected = status >= 400 && !isDocument && !url.endsWith("/health");
    const body = isRejected ? problem(status) : bodies.find(([pattern]) => pattern.test(url))?.[1];
    const sent = isRejected ? status : request.method === "POST" ? 201 : 200;
    response.writeHead(sent, { "content-type": "application/json" });
    request.resume().on("end", () => response.end(JSON.stringify(body)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { LOYALTY_URL: url, LOYALTY_API_KEY: "lk_1", LOYALTY_TEMPLATE_ID: "tpl_1" };
}

const withService =
  (args: readonly string[], status?: number, files: Record<string, string> = {}): Scenario =>
  async ({ args: more, isTTY }) => {
    const cwd = createFolder();
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
    return run([...args, ...more], { env: await openService(status), cwd, isTTY });
  };

const issue = ["issue", "--user-id", "7", "--privacy", "1"];
const event = {
  id: hostile("eventId"),
  type: hostile("eventType"),
  createdAt: hostile("createdAt"),
  data: {},
};
const body = JSON.stringify(event);
const webhookEnv = { LOYALTY_SIGNING_SECRET: secret };

/** A receiver whose response is hostile where HTTP permits it. */
const openReceiver = () =>
  listen((request, response) => {
    request.resume().on("end", () => response.writeHead(418, "hostile\u009b").end(attack));
  });

const withReceiver =
  (getArgs: (url: string) => readonly string[], files: Record<string, string> = {}): Scenario =>
  async ({ args, isTTY }) => {
    const cwd = createFolder();
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
    return run([...getArgs(await openReceiver()), ...args], { env: webhookEnv, cwd, isTTY });
  };

const withoutService =
  (args: readonly string[], env: Record<string, string> = {}): Scenario =>
  ({ args: more, isTTY }) =>
    run([...args, ...more], { env: { ...webhookEnv, ...env }, isTTY });

const columns = `userId,phone,${hostile("column").replaceAll(/[\r\n]/g, "")}\n`;
const members = `${columns}1,+48600100200,x\n2,${hostile("phone").replaceAll(/[\r\n]/g, "")},y\n`;
const importArgs = ["--privacy", "1", "--template", "tpl_1"];

/** A row for each command of the tree. */
const rows: Record<string, readonly Row[]> = {
  issue: [
    { from: "the card", fields: allCardFields, run: withService(issue) },
    {
      from: "a 404",
      fields: ["template"],
      json: [],
      run: withService([...issue, "--template", hostile("template")], 404),
    },
    { from: "a 422", fields: [], run: withService(issue, 422) },
    {
      from: "its arguments",
      fields: ["phone", "name", "key", "value"],
      run: withService([
        ...issue,
        "--dry-run",
        ...["--template", hostile("template"), "--phone", hostile("phone"), "--name", hostile("name")],
        ...["--field", `${hostile("key").replaceAll(/[=:]/g, "")}=${hostile("value")}`],
      ]),
    },
  ],
  card: [
    { from: "the card", fields: allCardFields, run: withService(["card", "card_1", "--qr"]) },
    { from: "a 404", fields: ["argument"], json: [], run: withService(["card", hostile("argument")], 404) },
  ],
  purchase: [
    { from: "the operation", fields: ["id"], run: withService(["purchase", "card_1", "120"]) },
    { from: "a 404", fields: ["detail"], json: [], run: withService(["purchase", "card_1", "120"], 404) },
  ],
  operations: [
    { from: "the operations", fields: operationFields, run: withService(["operations", "card_1"]) },
    { from: "a 403", fields: [], run: withService(["operations", "card_1"], 403) },
  ],
  consent: [
    {
      from: "the consent",
      fields: [],
      json: ["customer"],
      run: withService(["consent", "card_1"]),
    },
    {
      from: "a 404",
      fields: ["argument"],
      json: [],
      run: withService(["consent", hostile("argument")], 404),
    },
  ],
  import: [
    {
      from: "the columns, the rows and the rejection",
      fields: ["column"],
      json: [],
      run: withService(["import", "m.csv", ...importArgs, "--yes", "--skip-invalid"], 422, {
        "m.csv": members,
      }),
    },
    {
      from: "the name of the file",
      fields: ["file"],
      json: [],
      run: withService(["import", hostile("file"), ...importArgs, "--yes"]),
    },
    {
      from: "its arguments",
      fields: [],
      run: withService(["import", "m.csv", hostile("argument")]),
    },
  ],
  "import check": [
    {
      from: "the columns and rows",
      fields: ["column"],
      json: [],
      run: withService(["import", "check", "m.csv", ...importArgs], 200, { "m.csv": members }),
    },
    {
      from: "the name of the file",
      fields: ["file"],
      json: [],
      run: withService(["import", "check", hostile("file"), ...importArgs]),
    },
    {
      from: "--map",
      fields: ["map"],
      json: [],
      run: withService(["import", "check", "m.csv", "--map", hostile("map"), ...importArgs], 200, {
        "m.csv": members,
      }),
    },
  ],
  dev: [
    {
      from: "requests, ids of its seed, and its arguments",
      fields: ["key", "data"],
      json: [],
      async run({ args, isTTY }) {
        const cwd = createFolder();
        const template = {
          id: "tpl_1",
          name: hostile("name"),
          fields: [{ key: hostile("key"), type: "text", required: true }],
        };
        writeFileSync(join(cwd, "seed.json"), JSON.stringify({ templates: [template] }));
        const files = ["--seed", "seed.json", "--data", hostile("data")];
        const running = start(["dev", "--port", "0", ...files, ...args], { cwd, isTTY });
        const text = await running.waitFor(/(LOYALTY_URL=|"baseUrl":")http.*\n/);
        const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
        await fetch(`${url}/api/v1/passes/${encodeURIComponent(attack)}`);
        await running.waitFor(/GET/);
        running.interrupt();
        return running.exit;
      },
    },
    {
      from: "--forward",
      fields: ["forward"],
      json: [],
      run: withoutService(["dev", "--port", "0", "--forward", hostile("forward")]),
    },
    {
      from: "--events",
      fields: ["events"],
      json: [],
      run: withoutService([
        "dev",
        "--port",
        "0",
        "--forward",
        "http://127.0.0.1:9/",
        "--events",
        hostile("events"),
      ]),
    },
  ],
  exec: [
    {
      from: "the command",
      fields: ["command"],
      json: [],
      run: withoutService(["exec", "--", hostile("command")]),
    },
    {
      from: "--seed",
      fields: ["seed"],
      json: [],
      run: withoutService(["exec", "--seed", hostile("seed"), "--", "true"]),
    },
  ],
  trigger: [
    {
      from: "the event",
      fields: ["event"],
      run: withReceiver((url) => ["trigger", hostile("event"), "--to", url]),
    },
    {
      from: "the address",
      fields: ["to"],
      json: [],
      run: withoutService(["trigger", "ping"], { LOYALTY_WEBHOOK_URL: hostile("to") }),
    },
    {
      from: "--set",
      fields: ["set"],
      json: [],
      run: withReceiver((url) => ["trigger", "ping", "--to", url, "--set", hostile("set")]),
    },
  ],
  "webhook verify": [
    {
      from: "the event",
      fields: ["eventId", "eventType"],
      async run({ args, isTTY }) {
        const signature = signWebhookSync({ rawBody: body, secret });
        const cwd = createFolder();
        writeFileSync(join(cwd, "body.json"), body);
        return run(["webhook", "verify", "--body", "body.json", "--signature", signature, ...args], {
          env: webhookEnv,
          cwd,
          isTTY,
        });
      },
    },
    {
      from: "the signature",
      fields: [],
      run: withReceiver(
        () => ["webhook", "verify", "--body", "body.json", "--signature", hostile("signature")],
        { "body.json": body },
      ),
    },
    {
      from: "the name of the file",
      fields: ["file"],
      json: [],
      run: withoutService(["webhook", "verify", "--body", hostile("file")]),
    },
    {
      from: "--at",
      fields: ["at"],
      json: [],
      run: withReceiver(() => ["webhook", "verify", "--body", "body.json", "--at", hostile("at")], {
        "body.json": body,
      }),
    },
  ],
  "webhook sign": [
    {
      from: "the name of the file",
      fields: ["file"],
      json: [],
      run: withoutService(["webhook", "sign", "--body", hostile("file")]),
    },
  ],
  "webhook doctor": [
    { from: "the receiver", fields: [], run: withReceiver((url) => ["webhook", "doctor", url, "--verbose"]) },
    {
      from: "its arguments",
      fields: ["url"],
      json: [],
      run: withoutService(["webhook", "doctor", hostile("url")]),
    },
  ],
  "webhook listen": [
    {
      from: "the event",
      fields: ["eventId", "eventType"],
      async run({ args, isTTY }) {
        const to = await openReceiver();
        const running = start(["webhook", "listen", "--port", "0", "--to", to, ...args], {
          env: webhookEnv,
          isTTY,
        });
        const text = await running.waitFor(/(Tunnel to|"url":").*\n/);
        const [tunnel = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
        const signature = signWebhookSync({ rawBody: body, secret });
        for (const value of [signature, "t=1,v1=2"])
          await fetch(tunnel, {
            method: "POST",
            body,
            headers: { "service-signature": value, "service-event": "x" },
          });
        await running.waitFor(/malformed/);
        running.interrupt();
        return running.exit;
      },
    },
  ],
  doctor: [
    { from: "the service", fields: [], run: withService(["doctor"]) },
    {
      from: "a 404",
      fields: ["template"],
      json: [], // quoted
      run: withService(["doctor", "--template", hostile("template")], 404),
    },
    {
      from: "the address",
      fields: [],
      run: withoutService(["doctor"], { LOYALTY_URL: hostile("url") }),
    },
    {
      from: "the address of a service",
      fields: ["url"],
      run: withoutService(["doctor"], { LOYALTY_URL: `http://127.0.0.1:9/${hostile("url")}` }),
    },
  ],
};

const stream = { write: () => undefined };
const program = createProgram({
  terminal: { stdout: stream, stderr: stream, env: {} } as unknown as Terminal,
  args: [],
  exitCode: 0,
});
const listPaths = (command: Command, path: readonly string[] = []): string[] =>
  command.commands
    .filter((child) => child.name() !== "help")
    .flatMap((child) => {
      const names = [...path, child.name()];
      // `webhook` alone prints its help.
      return child.commands.length > 0 && child.registeredArguments.length === 0
        ? listPaths(child, names)
        : [names.join(" "), ...listPaths(child, names)];
    });

/** All names and texts of a JSON value. */
const listStrings = (value: unknown): string[] =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, member]) => [name, ...listStrings(member)])
    : [String(value)];

// G21
it("has a row for each command", () => {
  expect(Object.keys(rows).sort()).toEqual(listPaths(program).sort());
});

describe.each(Object.entries(rows))("loyalty-cards %s", (path, scenarios) => {
  it.each(scenarios.flatMap((row) => Object.entries(modes).map(([name, mode]) => ({ ...row, name, mode }))))(
    "escapes $from $name",
    async ({ fields, json, run: runScenario, mode }) => {
      const { stdout, stderr } = await runScenario(mode);
      expect(findControls(stdout + stderr)).toEqual([]);
      if (!mode.args.includes("--json")) {
        for (const field of fields) expect(stdout + stderr).toContain(`<${field}>\\u001b]52;`);
        return;
      }
      const values = parseLines(stdout).flatMap(listStrings);
      for (const field of json ?? fields)
        expect(values.some((value) => value.includes(hostile(field)))).toBe(true);
    },
  );

  it.each(["into a pipe", "to a terminal"])("escapes an unknown option %s", async (name) => {
    const { isTTY } = modes[name] as Mode;
    const { stdout, stderr } = await run([...path.split(" "), `--${attack}`], { isTTY });
    expect(findControls(stdout + stderr)).toEqual([]);
  });

  it("escapes the values of .env", async () => {
    const cwd = createFolder();
    const names = ["LOYALTY_URL", "LOYALTY_TEMPLATE_ID", "LOYALTY_WEBHOOK_URL", "LOYALTY_API_KEY"];
    const lines = names.map((one) => `${one}="http://127.0.0.1:9/${attack.replaceAll(/[\r\n]/g, "")}"\n`);
    writeFileSync(join(cwd, ".env"), lines.join(""));
    const args = path === "dev" || path === "webhook listen" ? ["--port", "x"] : ["one"];
    const { stdout, stderr } = await run([...path.split(" "), ...args], { cwd, isTTY: true });
    expect(findControls(stdout + stderr)).toEqual([]);
  });
});

it("is what the printer does, and nothing else writes to the streams", () => {
  const folder = fileURLToPath(new URL("../src", import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const writes = /\b(?:stdout|stderr)\??\.write\b|\bconsole\.(?:log|info|warn|error)\b/;
  expect(files.filter((file) => writes.test(readFileSync(join(folder, file), "utf8")))).toEqual([
    "printer.ts",
  ]);
});

it("finds the control characters of an output that does not escape them", () => {
  expect(findControls(attack).length).toBeGreaterThan(8);
  expect(findControls("\u001b[32mok\u001b[39m\n\r\u001b[1A\u001b[2Kdone\n")).toEqual([]);
});
