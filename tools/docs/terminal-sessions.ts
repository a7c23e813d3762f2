/** The commands in the terminal pictures. Each runs as a user runs it, against the mock service; ports, ids and times are replaced. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { main } from "../../packages/cli/src/main.ts";
import type { Terminal } from "../../packages/cli/src/terminal.ts";

export interface Session {
  /** Of the file, without the extension. */
  name: string;
  /** What a screen reader says. */
  title: string;
  /** What the user typed. */
  command: string;
  /** @returns the output with its control characters. */
  run(): Promise<string>;
}

export const sessions: readonly Session[] = [
  {
    name: "demo",
    title: "npm run demo: each step from the sign-up to the signed webhook succeeds",
    command: "npm run demo",
    async run() {
      const program = fileURLToPath(new URL("../../examples/demo/main.ts", import.meta.url));
      const flags = ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")];
      const env = { ...process.env, FORCE_COLOR: "1" };
      const child = spawn(process.execPath, [...flags, program], {
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
      return normalize(await text(child.stdout));
    },
  },
  {
    name: "dev",
    title: "loyalty-cards dev: what to paste, and a line for each request and webhook",
    command: "npx loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty",
    // `dev` creates a new secret at each start, so this receiver does not verify.
    run: () => withReceiver(acceptAll, runDev),
  },
  {
    name: "import",
    title: "loyalty-cards import: the check of the file, the question after ten cards, and the progress",
    command: "npx loyalty-cards import members.csv --privacy 2026-01 --skip-invalid",
    run: runImport,
  },
  {
    name: "webhook-doctor",
    title: "loyalty-cards webhook doctor: the problems of a receiver, and how to fix them",
    command: "npx loyalty-cards webhook doctor http://localhost:3000/webhooks/loyalty",
    run: () =>
      withReceiver(verifyWithoutAge, (url) =>
        runCommand(["webhook", "doctor", url], { env: { LOYALTY_SIGNING_SECRET: signingSecret } }),
      ),
  },
];

const signingSecret = "whsec_8sT2kqVb3nWx0LpD";

async function runDev(url: string): Promise<string> {
  let seen = "";
  return runCommand(["dev", "--port", "0", "--forward", url], {
    env: {},
    async onOutput(output, interrupt) {
      const before = seen;
      seen = output;
      const isFirst = (pattern: RegExp) => pattern.test(output) && !pattern.test(before);
      if (isFirst(/in the console\./)) {
        const baseUrl = /LOYALTY_URL=(\S+)/.exec(output)?.[1] ?? "";
        const loyalty = createIssuingClient({ baseUrl, apiKey: "mock_website_key" });
        const request = { customer: { name: "Anna", consents: { privacy: { version: "1" } } } };
        const { id } = await loyalty.issueCard("tpl_mock", request, { userId: 1 });
        await fetch(`${baseUrl}/_mock/cards/${id}/purchase`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"points":60}',
        });
      }
      if (isFirst(/balance\.changed.*evt_\S+/)) interrupt();
    },
  });
}

async function runImport(): Promise<string> {
  const { url, service, close } = await startMockServer();
  service.faults.add({ phase: "before", kind: "latency", delayMs: 30 }); // so that there is progress to show
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-terminal-"));
  const rows = Array.from({ length: 10_000 }, (_, index) => `${index + 1},+48${600_100_200 + index},Member`);
  rows[2] = "3,4.86E+10,Member"; // as a spreadsheet writes it
  writeFileSync(join(folder, "members.csv"), `userId,phone,name\n${rows.join("\n")}\n`);
  let shown: string | undefined;
  try {
    const output = await runCommand(["import", "members.csv", "--privacy", "2026-01", "--skip-invalid"], {
      env: { LOYALTY_URL: url, LOYALTY_API_KEY: service.apiKeys.website, LOYALTY_TEMPLATE_ID: "tpl_mock" },
      cwd: folder,
      stdin: "y\n",
      onOutput(text, interrupt) {
        if (shown !== undefined || !/ [6-9]\d %.*\n.* left/.test(text)) return;
        shown = text; // with the progress on the screen
        interrupt();
      },
    });
    return normalize(shown ?? output);
  } finally {
    await close();
    rmSync(folder, { recursive: true });
  }
}

interface RunOptions {
  env: Terminal["env"];
  cwd?: string;
  stdin?: string;
  onOutput?: (output: string, interrupt: () => void) => unknown;
}

/** Runs a command line on a terminal of 80 columns. */
async function runCommand(args: readonly string[], options: RunOptions): Promise<string> {
  const { env, cwd = tmpdir(), stdin = "", onOutput } = options;
  let output = "";
  const interrupts = new Set<() => void>();
  const interrupt = () => {
    for (const listener of [...interrupts]) listener();
  };
  const stream = {
    isTTY: true,
    columns: 80,
    write(text: string) {
      output += text;
      onOutput?.(output, interrupt);
    },
  };
  async function* type() {
    output += stdin; // a terminal shows what is typed
    yield Buffer.from(stdin);
  }
  await main(args, {
    stdin: Object.assign(type(), { isTTY: true }),
    stdout: stream,
    stderr: stream,
    env,
    cwd,
    onInterrupt(listener) {
      interrupts.add(listener);
      return () => interrupts.delete(listener);
    },
  });
  return normalize(output);
}

const acceptAll: RequestListener = (request, response) =>
  void request.resume().on("end", () => response.writeHead(204).end());

/** Accepts deliveries that are a day old, which the doctor reports. */
const receive = nodeReceiver({
  secret: signingSecret,
  toleranceSeconds: 86_400,
  handler: () => {},
  log: () => {},
});
const verifyWithoutAge: RequestListener = (request, response) => void receive(request, response);

async function withReceiver<Result>(
  listener: RequestListener,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Replaces what differs from run to run by values of the same length where columns depend on it. */
function normalize(output: string): string {
  return output
    .replace(/http:\/\/127\.0\.0\.1:\d+\/webhooks/g, "http://localhost:3000/webhooks/loyalty")
    .replace(/(shop +http:\/\/127\.0\.0\.1:)\d+/g, "$13000")
    .replace(/127\.0\.0\.1:(?!3000)\d+/g, "127.0.0.1:4010")
    .replace(/(card|whsec)_\w{16}/g, "$1_8sT2kqVb3nWx0LpD")
    .replace(/\/cards\/\w{16}/g, "/cards/Wm4rYt7uKz1cQe9h")
    .replace(/evt_\w+/g, "evt_0mw_8sT2kqVb3nWx0LpD")
    .replace(/\d\d:\d\d:\d\d/g, "10:15:00");
}
