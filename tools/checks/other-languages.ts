/**
 * Runs the verifiers of examples/other-languages against every signature vector, and their
 * receivers against a delivery of the mock service, a forged one, and a large and a slow request. A
 * language whose interpreter is not installed is reported as skipped.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { freePort } from "@loyalty-cards/testing/free-port";
import { root } from "../run.ts";

const examples = join(root, "examples/other-languages");
const signatures = join(root, "openapi/vectors/signatures.json");
const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };

interface Language {
  /** The folder below `examples/other-languages`; there the commands run. */
  name: string;
  /** The interpreter, and the Debian package that contains it. */
  program: string;
  debian: string;
  vectors: string;
  receiver: (port: number) => string[];
  /**
   * Whether the receiver itself ends a request that arrives too slowly; otherwise the web server in
   * front of it does.
   */
  endsSlowRequests: boolean;
}

const languages: readonly Language[] = [
  {
    name: "python",
    program: "python3",
    debian: "python3",
    vectors: "vectors.py",
    receiver: () => ["receiver.py"],
    endsSlowRequests: true,
  },
  {
    name: "php",
    program: "php",
    debian: "php-cli",
    vectors: "vectors.php",
    receiver: (port) => ["-S", `127.0.0.1:${port}`, "receiver.php"],
    endsSlowRequests: false,
  },
];

/**
 * @throws unless the program prints the verdict of each vector.
 * @returns their number.
 */
function testVectors({ name, program, vectors }: Language): number {
  const options = { cwd: join(examples, name), env, encoding: "utf8" } as const;
  const output = execFileSync(program, [vectors, signatures], options);
  const document: { vectors: { name: string; verdict: string; reason?: string }[] } = JSON.parse(
    readFileSync(signatures, "utf8"),
  );
  const expected = document.vectors.map(
    (one) => `${one.verdict}\t${one.reason ?? "-"}\t${one.name}`,
  );
  deepEqual(output.trimEnd().split(/\r?\n/), expected);
  return expected.length;
}

/**
 * Issues a card with curl, twice, and records a purchase.
 * @throws unless the receiver accepts exactly the signed event.
 */
async function testReceiver({
  name,
  program,
  receiver,
  endsSlowRequests,
}: Language): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks/loyalty`;
  const mock = await startMockServer({
    endpoints: [{ url, events: ["balance.changed"], secret: "whsec_new" }],
  });
  const child = spawn(program, receiver(port), {
    cwd: join(examples, name),
    env: { ...env, LOYALTY_SIGNING_SECRET: "whsec_old,whsec_new", PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => void printed.push(String(chunk)));
  try {
    await waitForPort(port);
    const [card, again] = [await issueWithCurl(mock), await issueWithCurl(mock)];
    equal(card, again, "The second request with the same idempotency key issued another card.");
    mock.service.cards.purchase(card, { points: 120 });
    await mock.service.idle();
    deepEqual(
      mock.service.webhooks.deliveries().map(({ state }) => state),
      ["delivered"],
    );
    const forged = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" }),
      headers: { "service-signature": `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}` },
    });
    equal(forged.status, 401);
    equal(await postZeros(port, 2 ** 21, 2 ** 21), "413");
    if (endsSlowRequests) match(await postZeros(port, 100_000, 1), /^(408|closed)$/);
    child.kill("SIGKILL");
    await once(child, "close"); // then everything that it printed has arrived
    match(printed.join(""), /balance\.changed evt_/);
    match(printed.join(""), /rejected a webhook: mismatch/);
  } catch (error) {
    throw new Error(`The ${name} receiver printed:\n${printed.join("")}`, { cause: error });
  } finally {
    child.kill("SIGKILL");
    await mock.close();
  }
}

/** Resolves when something responds on the port. */
async function waitForPort(port: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const response = await fetch(`http://127.0.0.1:${port}`).catch(() => undefined);
    if (response !== undefined) return;
    await setTimeout(50);
  }
  throw new Error(`Nothing listens on port ${port}.`);
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
  return JSON.parse(stdout).id;
}

/**
 * Posts a body of zeros, some bytes each second.
 * @returns the status, or "closed" when there was no response.
 */
async function postZeros(port: number, length: number, bytesPerSecond: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const head = ["POST /webhooks/loyalty HTTP/1.1", "host: localhost", `content-length: ${length}`];
  socket.write([...head, "connection: close", "", ""].join("\r\n"));
  const zeros = Buffer.alloc(bytesPerSecond, "0");
  const timer = setInterval(() => socket.write(zeros), 1_000);
  let response = "";
  socket.on("data", (chunk) => {
    response += chunk;
  });
  socket.on("error", () => {}); // closed before all was sent
  try {
    await once(socket, "close", { signal: AbortSignal.timeout(20_000) });
    return /^HTTP\/1\.[01] (\d{3})/.exec(response)?.[1] ?? "closed";
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
}

for (const language of languages) {
  const { name, program, debian } = language;
  if (spawnSync(program, ["--version"]).error !== undefined) {
    console.log(`– ${name}: ${program} is not installed (Debian: ${debian})`);
    continue;
  }
  const count = testVectors(language);
  await testReceiver(language);
  console.log(`✓ ${name}: ${count} vectors and a receiver`);
}
