/**
 * Runs the verifiers of examples/other-languages: each against every signature vector, and its receiver against deliveries of
 * the mock service, large and slow requests, and a port that is taken. An interpreter that is not installed fails on Linux; with
 * `--installed`, and on other systems, it is reported as skipped.
 */
import { deepEqual } from "node:assert/strict";
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { freePort } from "../../packages/webhook-inbox/test/own-redis.ts";
import { root } from "../published.ts";

const examples = join(root, "examples/other-languages");
const signatures = join(root, "packages/contract/signatures.json");

interface Language {
  name: string;
  /** Below `examples/other-languages`; there the commands run. */
  folder: string;
  /** Each program with the Debian package that contains it. */
  programs: Readonly<Record<string, string>>;
  /** The arguments that print the version of the first program. */
  version: string;
  /** Compiles into a temporary folder. */
  build?: (folder: string) => readonly string[];
  vectors: (folder: string) => readonly string[];
  receiver: (port: number, folder: string) => readonly string[];
  /** Which slow body the receiver ends itself: one that stops arriving, or also one that arrives byte by byte. */
  endsBody?: "that stops" | "that drips";
}

const languages: readonly Language[] = [
  {
    name: "Python",
    folder: "python",
    programs: { python3: "python3" },
    version: "--version",
    vectors: () => ["python3", "vectors.py", signatures],
    receiver: () => ["python3", "receiver.py"],
    endsBody: "that drips",
  },
  {
    name: "PHP",
    folder: "php",
    programs: { php: "php-cli" },
    version: "--version",
    vectors: () => ["php", "vectors.php", signatures],
    receiver: (port) => ["php", "-S", `127.0.0.1:${port}`, "receiver.php"],
  },
  {
    name: "Ruby",
    folder: "ruby",
    programs: { ruby: "ruby", puma: "puma" },
    version: "--version",
    vectors: () => ["ruby", "vectors.rb", signatures],
    receiver: (port) => ["puma", "--config", "puma.rb", "--bind", `tcp://127.0.0.1:${port}`],
    endsBody: "that stops",
  },
  {
    name: "Go",
    folder: "go",
    programs: { go: "golang-go" },
    version: "version",
    build: (folder) => ["go", "build", "-o", `${folder}/`, "./..."],
    vectors: (folder) => [join(folder, "vectors"), signatures],
    receiver: (_port, folder) => [join(folder, "receiver")],
    endsBody: "that drips",
  },
];

const env = { ...process.env, GOTOOLCHAIN: "local", PYTHONDONTWRITEBYTECODE: "1" };

function runProgram([program = "", ...args]: readonly string[], folder: string): string {
  return execFileSync(program, args, {
    cwd: join(examples, folder),
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
}

const isInstalled = (program: string) => spawnSync(program, ["--version"], { env }).error === undefined;

interface Vector {
  name: string;
  verdict: string;
  reason?: string;
}

/** Takes a free port. */
async function takePort(): Promise<{ port: number; server: Server }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, server };
}

/** Resolves when something listens on the port. */
async function waitForPort(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`The receiver exited with ${child.exitCode}.`);
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await setTimeout(50);
  }
  throw new Error(`The receiver did not listen on port ${port}.`);
}

function startReceiver(language: Language, port: number, folder: string) {
  const [program = "", ...args] = language.receiver(port, folder);
  return spawn(program, args, {
    cwd: join(examples, language.folder),
    env: { ...env, LOYALTY_SIGNING_SECRET: "whsec_old,whsec_new", PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** @throws unless the receiver says that its port is taken, and exits with another code than 0. */
async function checkTakenPort(language: Language, folder: string): Promise<void> {
  const { port, server } = await takePort();
  const child = startReceiver(language, port, folder);
  try {
    const ended = once(child, "exit", { signal: AbortSignal.timeout(30_000) });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (code === 0 || !/address already in use/i.test(stdout + stderr))
      throw new Error(`With a port that is taken it exits with ${code}, and prints:\n${stdout}${stderr}`);
  } finally {
    child.kill("SIGKILL");
    server.close();
  }
}

/**
 * Posts a body of zeros.
 * @param seconds between two bytes; 0: all bytes at once, after a second in which a receiver may respond to the length alone.
 * @returns the status of the response; "closed" when the connection was closed without one.
 */
async function postZeros(port: number, length: number, seconds: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const head = ["POST /webhooks/loyalty HTTP/1.1", "host: localhost", `content-length: ${length}`];
  socket.write([...head, "connection: close", "", ""].join("\r\n"));
  let response = "";
  socket.on("data", (chunk) => {
    response += chunk;
  });
  socket.on("error", () => {}); // closed before all was sent
  const closed = once(socket, "close", { signal: AbortSignal.timeout(20_000) });
  const step = Buffer.alloc(seconds === 0 ? length : 1, "0");
  const timer = setInterval(() => socket.write(step), (seconds || 1) * 1_000);
  try {
    await closed;
    return /^HTTP\/1\.[01] (\d{3})/.exec(response)?.[1] ?? "closed";
  } catch {
    return "open after 20 s";
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
}

/** @throws unless the receiver limits the length of a body, and the time in which it arrives. */
async function checkLimits({ endsBody }: Language, port: number): Promise<void> {
  const [large, slow] = await Promise.all([
    postZeros(port, 2 ** 21, 0),
    endsBody === undefined ? "closed" : postZeros(port, 100_000, endsBody === "that drips" ? 1 : 60),
  ]);
  if (large !== "413") throw new Error(`The response to 2 MiB is ${large}.`);
  if (slow !== "408" && slow !== "closed") throw new Error(`The response to a slow body is ${slow}.`);
}

/**
 * Issues a card with curl, twice, and records a purchase.
 * @throws unless the receiver accepts exactly the signed events, and limits what it reads.
 */
async function checkReceiver(language: Language, folder: string): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks/loyalty`;
  const mock = await startMockServer({
    endpoints: [{ url, events: ["balance.changed"], secret: "whsec_new" }],
  });
  const child = startReceiver(language, port, folder);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  try {
    await waitForPort(port, child);
    const ids = [await issueWithCurl(mock), await issueWithCurl(mock)];
    if (ids[0] !== ids[1])
      throw new Error("The second request with the same idempotency key issued another card.");
    mock.service.cards.purchase(ids[0] ?? "", { points: 120 });
    await mock.service.idle();
    const states = mock.service.webhooks.deliveries().map(({ state }) => state);
    const forged = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" }),
      headers: { "service-signature": `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}` },
    });
    await checkLimits(language, port);
    child.kill("SIGKILL");
    await once(child, "close"); // then everything that it printed has arrived
    const isAsExpected =
      states.join() === "delivered" &&
      forged.status === 401 &&
      output.includes("balance.changed evt_") &&
      output.includes("rejected a webhook: mismatch");
    if (!isAsExpected)
      throw new Error(
        `The delivery is ${states.join()}, the forged one got ${forged.status}. The receiver printed:\n${output}`,
      );
  } finally {
    child.kill("SIGKILL");
    await mock.close();
  }
}

/** @returns the id of the card. */
async function issueWithCurl({ url, service }: MockServer): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", [join(examples, "issue-card.sh")], {
    env: {
      ...env,
      LOYALTY_URL: url,
      LOYALTY_API_KEY: service.apiKeys.website,
      LOYALTY_TEMPLATE_ID: service.templateId,
      USER_ID: "42",
    },
  });
  return (JSON.parse(stdout) as { id: string }).id;
}

/** @throws with what is wrong. */
async function check(language: Language, vectors: readonly Vector[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-verifier-"));
  try {
    if (language.build !== undefined) runProgram(language.build(folder), language.folder);
    const output = runProgram(language.vectors(folder), language.folder);
    const expected = vectors.map(({ name, verdict, reason = "-" }) => `${verdict}\t${reason}\t${name}`);
    deepEqual(output.trimEnd().split(/\r?\n/), expected);
    await checkTakenPort(language, folder);
    await checkReceiver(language, folder);
    const [program = ""] = Object.keys(language.programs);
    return runProgram([program, language.version], language.folder).split("\n")[0] ?? "";
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const maySkip = process.argv.includes("--installed") || process.platform !== "linux";
const { vectors } = JSON.parse(readFileSync(signatures, "utf8")) as { vectors: Vector[] };
for (const language of languages) {
  const missing = Object.entries(language.programs).filter(([program]) => !isInstalled(program));
  if (missing.length > 0) {
    const names = missing
      .map(([program, debian]) => `${program} is not installed (Debian: ${debian})`)
      .join(", ");
    console.log(
      maySkip ? `– ${language.name.padEnd(8)}skipped: ${names}` : `✗ ${language.name.padEnd(8)}${names}`,
    );
    if (!maySkip) process.exitCode = 1;
    continue;
  }
  try {
    const version = await check(language, vectors);
    console.log(`✓ ${language.name.padEnd(8)}${vectors.length} vectors and a receiver, ${version}`);
  } catch (error) {
    console.log(`✗ ${language.name.padEnd(8)}${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
