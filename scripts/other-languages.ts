/**
 * Runs the verifiers of examples/other-languages: each against every signature vector, and its receiver against deliveries of
 * the mock service. An interpreter that is not installed fails on Linux; with `--installed`, and on other systems, it is
 * reported as skipped.
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { root } from "./published.ts";

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
}

const languages: readonly Language[] = [
  {
    name: "Python",
    folder: "python",
    programs: { python3: "python3" },
    version: "--version",
    vectors: () => ["python3", "vectors.py", signatures],
    receiver: () => ["python3", "receiver.py"],
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
    programs: { ruby: "ruby", rackup: "ruby-rack and ruby-webrick" },
    version: "--version",
    vectors: () => ["ruby", "vectors.rb", signatures],
    receiver: (port) => ["rackup", "--server", "webrick", "--host", "127.0.0.1", "--port", String(port)],
  },
  {
    name: "Go",
    folder: "go",
    programs: { go: "golang-go" },
    version: "version",
    build: (folder) => ["go", "build", "-o", `${folder}/`, "./..."],
    vectors: (folder) => [join(folder, "vectors"), signatures],
    receiver: (_port, folder) => [join(folder, "receiver")],
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

/** @returns a sentence for each vector with another verdict or reason than expected. */
export function findDisagreements(vectors: readonly Vector[], output: string): string[] {
  const lines = output.trimEnd().split(/\r?\n/);
  const found = vectors.flatMap(({ name, verdict, reason = "-" }, index) => {
    const expected = `${verdict}\t${reason}\t${name}`;
    const line = lines[index] ?? "nothing";
    return line === expected
      ? []
      : [`"${name}" must be ${verdict} (${reason}); printed: ${line.replaceAll("\t", " ")}`];
  });
  if (lines.length !== vectors.length) found.push(`${lines.length} lines for ${vectors.length} vectors`);
  return found;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
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

/** Issues a card with curl, twice, and records a purchase. @throws unless the receiver accepts exactly the signed events. */
async function checkReceiver(language: Language, folder: string): Promise<void> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/webhooks/loyalty`;
  const mock = await startMockServer({
    endpoints: [{ url, events: ["balance.changed"], secret: "whsec_new" }],
  });
  const [program = "", ...args] = language.receiver(port, folder);
  const child = spawn(program, args, {
    cwd: join(examples, language.folder),
    env: { ...env, LOYALTY_SIGNING_SECRET: "whsec_old,whsec_new", PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
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
    const disagreements = findDisagreements(vectors, runProgram(language.vectors(folder), language.folder));
    if (disagreements.length > 0) throw new Error(disagreements.join("\n  "));
    await checkReceiver(language, folder);
    const [program = ""] = Object.keys(language.programs);
    return runProgram([program, language.version], language.folder).split("\n")[0] ?? "";
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
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
}
