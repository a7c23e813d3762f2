/**
 * Control characters of a customer, a service, a file or a command line reach no terminal: each
 * command, and each field that it reads.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { commands, parseLines, run, secret, start } from "./terminal.ts";

/**
 * Writes the clipboard, hides text, moves the cursor, begins a line of its own, and reverses text.
 */
const attack =
  "\u001b]52;c;Zm9v\u0007\u001b[8m\u009b31m\b\r\nSPOOFED\u0085\u2028\u2029\u202e\u2066\u007f";

/** A value that the output can be searched for. */
const hostile = (field: string) => `<${field}>${attack}`;

/** What is left of the output without the colors and the status lines of the command. */
function findControls(output: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched for
  const own = /\u001b\[(?!8m)[\d;]+m|\r(?:\u001b\[1A\u001b\[2K)+/g;
  return (
    output.replace(own, "").match(/[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]|^SPOOFED/gmu) ?? []
  );
}

type Output = { stdout: string; stderr: string };

interface Mode {
  args: string[];
  isTTY: boolean;
}

const modes: Record<string, Mode> = {
  "to a terminal": { args: [], isTTY: true },
  "as JSON": { args: ["--json"], isTTY: false },
};

/** Runs a command with hostile values. */
type Scenario = (mode: Mode) => Promise<Output>;

/** The fields that the text has after a scenario; the JSON too, unless it has others. */
type Row = readonly [run: Scenario, fields: readonly string[], json?: readonly string[]];

const cardFields = [
  "id",
  "publicUrl",
  "status",
  "customerId",
  "loyaltyBalance",
  "loyaltyTier",
  "issuedVia",
];
const card = {
  ...Object.fromEntries(cardFields.map((name) => [name, hostile(name)])),
  loyaltyBalance: 5, // a number of the contract
  publicUrl: `https://cards.example.com/${hostile("publicUrl")}`,
  fieldValues: { [hostile("fieldKey")]: hostile("fieldValue") },
};
const allCardFields = [
  ...cardFields.filter((name) => name !== "loyaltyBalance"),
  "fieldKey",
  "fieldValue",
];
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

/** The contract with another path, property and server, so that their names are in differences. */
function createDocument() {
  const document = structuredClone(openapi) as {
    paths: Record<string, unknown>;
    components: unknown;
  };
  const [[path = "", item] = []] = Object.entries(document.paths);
  delete document.paths[path];
  document.paths[`/${hostile("path")}`] = item;
  return document;
}

/**
 * A service all of whose values are hostile.
 * @param status of the responses, other than that of the document.
 */
async function openService(status = 200): Promise<Record<string, string>> {
  const bodies: [RegExp, unknown][] = [
    [/\/docs\/json$/, createDocument()],
    [/\/_mock\/health$/, { status: "ok" }],
    [/\/purchase$/, { ...operation, change: 120, balance: 120 }],
    [/\/operations/, { items: [operation] }],
    [/\/consent$/, consent],
    [/./, card],
  ];
  const LOYALTY_URL = await listen((request, response) => {
    const url = request.url ?? "";
    const isRejected = status >= 400 && !url.endsWith("/docs/json") && !url.endsWith("/health");
    const body = isRejected ? problem(status) : bodies.find(([pattern]) => pattern.test(url))?.[1];
    const sent = isRejected ? status : request.method === "POST" ? 201 : 200;
    response.writeHead(sent, { "content-type": "application/json" });
    request.resume().on("end", () => response.end(JSON.stringify(body)));
  });
  return {
    LOYALTY_URL,
    LOYALTY_API_KEY: "lk_1",
    LOYALTY_TEMPLATE_ID: "tpl_1",
    LOYALTY_SIGNING_SECRET: secret,
  };
}

/** A receiver whose response is hostile where HTTP permits it. */
const openReceiver = () =>
  listen((request, response) => {
    request.resume().on("end", () => response.writeHead(418, "hostile\u009b").end(attack));
  });

interface Setup {
  /** Of the responses of the service. */
  status?: number;
  env?: Record<string, string>;
  files?: Record<string, string>;
}

/** Runs a command with a hostile service and a hostile receiver. */
const given =
  (args: readonly string[], { status, env, files }: Setup = {}): Scenario =>
  async (mode) => {
    const own = {
      ...(await openService(status)),
      LOYALTY_WEBHOOK_URL: await openReceiver(),
      ...env,
    };
    return run([...args, ...mode.args], { env: own, cwd: createFolder(files), isTTY: mode.isTTY });
  };

/** Runs a command until it has printed a text after `act`. */
const untilPrinted =
  (
    args: readonly string[],
    { env = {}, files }: Setup,
    act: (url: string) => Promise<unknown>,
    text: RegExp,
  ): Scenario =>
  async (mode) => {
    const running = start([...args, "--port", "0", ...mode.args], {
      env,
      cwd: createFolder(files),
      isTTY: mode.isTTY,
    });
    const ready = await running.waitFor(/(LOYALTY_URL=|Tunnel to|"baseUrl":"|"url":").*\n/);
    await act(/http:\/\/127\.0\.0\.1:\d+/.exec(ready)?.[0] ?? "");
    await running.waitFor(text);
    running.interrupt();
    return running.exit;
  };

const event = {
  id: hostile("eventId"),
  type: hostile("eventType"),
  createdAt: hostile("createdAt"),
  data: {},
};
const body = JSON.stringify(event);
const signed = signWebhookSync({ rawBody: body, secret });
const verify = ["webhook", "verify", "--body", "body.json"];
const withBody = { files: { "body.json": body } };

const issue = ["issue", "--user-id", "7", "--privacy", "1"];
const oneLine = (text: string) => text.replaceAll(/[\r\n]/g, "");
const members = `userId,phone,${oneLine(hostile("column"))}\n1,+48600100200,x\n2,${oneLine(hostile("phone"))},y\n`;
const withMembers = { files: { "m.csv": members } };
const importArgs = ["--privacy", "1", "--template", "tpl_1"];

const template = {
  id: "tpl_1",
  name: hostile("name"),
  fields: [{ key: hostile("key"), type: "text", required: true }],
};
const withSeed = { files: { "seed.json": JSON.stringify({ templates: [template] }) } };
const devArgs = ["dev", "--seed", "seed.json", "--data", hostile("data")];

/** For each command of the tree, what is hostile. */
const rows: Record<string, Row> = {
  "issue: the card": [given(issue), allCardFields],
  "issue: a 422": [given(issue, { status: 422 }), []],
  "card: the card": [given(["card", "card_1"]), allCardFields],
  "card: a 404": [given(["card", hostile("argument")], { status: 404 }), ["argument"], []],
  "purchase: the operation": [given(["purchase", "card_1", "120"]), ["id"]],
  "operations: the operations": [given(["operations", "card_1"]), operationFields],
  "consent: the consent": [given(["consent", "card_1"]), [], ["customer"]],
  "import: the columns, the rows and the rejection": [
    given(["import", "m.csv", ...importArgs, "--yes", "--skip-invalid"], {
      ...withMembers,
      status: 422,
    }),
    ["column"],
    [],
  ],
  "import: the name of the file": [
    given(["import", hostile("file"), ...importArgs, "--yes"]),
    ["file"],
    [],
  ],
  "import check: the columns and rows": [
    given(["import", "check", "m.csv", ...importArgs], withMembers),
    ["column"],
    [],
  ],
  "dev: requests, ids of its seed, and its arguments": [
    untilPrinted(
      devArgs,
      withSeed,
      (url) => fetch(`${url}/api/v1/${encodeURIComponent(attack)}`), // the name of no operation
      /GET/,
    ),
    ["data"],
    [],
  ],
  "exec: the command": [given(["exec", "--", hostile("command")]), ["command"], []],
  "trigger: the event": [given(["trigger", hostile("event")]), ["event"], []],
  "trigger: the address": [
    given(["trigger", "ping"], { env: { LOYALTY_WEBHOOK_URL: `http://${hostile("to")}` } }),
    ["to"],
    [],
  ],
  "webhook verify: the event": [
    given([...verify, "--signature", signed], withBody),
    ["eventId", "eventType"],
  ],
  "webhook sign: the name of the file": [
    given(["webhook", "sign", "--body", hostile("file")]),
    ["file"],
    [],
  ],
  "webhook doctor: the receiver": [given(["webhook", "doctor", "--verbose", "--timeout", "1"]), []],
  "webhook listen: the event": [
    async (mode) => {
      const LOYALTY_WEBHOOK_URL = await openReceiver();
      const deliver = (url: string) =>
        Promise.all(
          [signed, "t=1,v1=2"].map((value) =>
            fetch(url, { method: "POST", body, headers: { "service-signature": value } }),
          ),
        );
      const env = { LOYALTY_SIGNING_SECRET: secret, LOYALTY_WEBHOOK_URL };
      return untilPrinted(["webhook", "listen"], { env }, deliver, /malformed/)(mode);
    },
    ["eventId", "eventType"],
  ],
  "doctor: the service": [given(["doctor"]), []],
  // Its name is quoted in JSON.
  "doctor: a 404": [
    given(["doctor", "--template", hostile("template")], { status: 404 }),
    ["template"],
    [],
  ],
  "doctor: the address of a service": [
    given(["doctor"], { env: { LOYALTY_URL: `http://127.0.0.1:9/${hostile("url")}` } }),
    ["url"],
  ],
};

/** All names and texts of a JSON value. */
const listStrings = (value: unknown): string[] =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, member]) => [name, ...listStrings(member)])
    : [String(value)];

/** `webhook` alone prints its help. */
const paths = commands
  .filter(({ command }) => command.commands.length === 0 || command.registeredArguments.length > 0)
  .map(({ path }) => path);

// G21
it("covers each command", () => {
  const covered = new Set(Object.keys(rows).map((name) => name.split(":", 1)[0]));
  expect([...covered].sort()).toEqual(paths.sort());
});

describe.each(Object.entries(modes))("%s", (_, mode) => {
  it.each(Object.entries(rows))(
    "escapes of %s",
    async (_name, [runScenario, fields, json = fields]) => {
      const { stdout, stderr } = await runScenario(mode);
      expect(findControls(stdout + stderr)).toEqual([]);
      if (!mode.args.includes("--json")) {
        for (const field of fields) expect(stdout + stderr).toContain(`<${field}>\\u001b]52;`);
        return;
      }
      const values = parseLines(stdout).flatMap(listStrings);
      for (const field of json)
        expect(values.some((value) => value.includes(hostile(field)))).toBe(true);
    },
  );

  it("escapes an unknown option of each command", async () => {
    for (const path of paths) {
      const { stdout, stderr } = await run([...path.split(" "), `--${attack}`, ...mode.args], mode);
      expect(findControls(stdout + stderr)).toEqual([]);
    }
  });
});

it("escapes the values of .env in each command", async () => {
  const names = ["LOYALTY_URL", "LOYALTY_TEMPLATE_ID", "LOYALTY_WEBHOOK_URL", "LOYALTY_API_KEY"];
  const values = names.map((name) => `${name}="http://127.0.0.1:9/${oneLine(attack)}"\n`);
  const cwd = createFolder({ ".env": values.join("") });
  for (const path of paths) {
    const args = path === "dev" || path === "webhook listen" ? ["--port", "x"] : ["one"];
    const { stdout, stderr } = await run([...path.split(" "), ...args], { cwd, isTTY: true });
    expect(findControls(stdout + stderr)).toEqual([]);
  }
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
