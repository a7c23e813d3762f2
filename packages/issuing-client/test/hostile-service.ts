/**
 * Calls a hostile service and prints a report as JSON. A process of its own, so that uncaught errors and open sockets are counted.
 * Arguments: the transport, how many responses, the seed, and `undici` to load the package of that name first.
 */
import { createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import type { Fetch } from "../src/transport.ts";
import { drawResponse } from "./hostile-responses.ts";
import { signUp } from "./scripted.ts";

const [over = "", count = "", seed = "", preloaded] = process.argv.slice(2);
const undici = preloaded === undefined ? undefined : await import("undici"); // before the first use of fetch
const { createIssuingClient, isIssuingError } = await import("../src/index.ts");

const apiKey = "api-key-that-nobody-may-see";
const keyPrefix = "idempotency-key-that-nobody-may-see-";
const report = {
  responses: 0,
  ends: {} as Record<string, number>,
  uncaught: [] as string[],
  leftOpen: 0,
  late: [] as string[],
  leaked: [] as string[],
  foreign: [] as string[],
  falseCards: [] as string[],
};
process.on("uncaughtException", (error) => report.uncaught.push(inspect(error)));
process.on("unhandledRejection", (error) => report.uncaught.push(inspect(error)));

const open = new Set<Socket>();
const server = createServer((socket) => {
  open.add(socket);
  socket.on("close", () => open.delete(socket)).on("error", () => {});
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes;
    const headEnd = received.indexOf("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
    if (headEnd < 0 || received.length < headEnd + 4 + length) return;
    const number = new RegExp(`${keyPrefix}(\\d+)|/passes/card_(\\d+)`).exec(received);
    const id = `card_${number?.[1] ?? number?.[2]}`;
    const card = JSON.stringify({ id, publicUrl: `https://cards.test/${id}`, loyaltyBalance: 0 });
    const echo = received.slice(0, 2_000).replace(/[\r\n]+/g, " ");
    received = "";
    respond(socket, drawResponse(Number(seed) + report.responses++, card, echo));
  });
});

async function respond(socket: Socket, { writes, end }: ReturnType<typeof drawResponse>): Promise<void> {
  for (const bytes of writes) {
    if (socket.destroyed) return;
    socket.write(bytes);
    await new Promise(setImmediate);
  }
  if (end === "finish") socket.end();
  if (end === "destroy") socket.destroy();
  if (end === "reset") socket.resetAndDestroy();
}

await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
const fetches: Record<string, Fetch | undefined> = { fetch: globalThis.fetch, undici: undici?.fetch };
const deadlineMs = 1_000;
const client = createIssuingClient({
  baseUrl: `http://127.0.0.1:${port}`,
  apiKey,
  timeoutMs: 300,
  deadlineMs,
  maxRetries: 1,
  testing: { random: () => 0 },
  fetch: fetches[over],
  onEvent: (event) => checkSecrets(JSON.stringify(event)),
});

function checkSecrets(text: string): void {
  if (text.includes(apiKey) || text.includes(keyPrefix)) report.leaked.push(text.slice(0, 2_000));
}

const calls: ((number: number, signal: AbortSignal | undefined) => Promise<string | undefined>)[] = [
  async (number, signal) =>
    (await client.issueCard("tpl_1", signUp, { idempotencyKey: `${keyPrefix}${number}`, signal })).id,
  async (number, signal) => (await client.getCard(`card_${number}`, { signal })).id,
  async (number, signal) => {
    const init = { params: { path: { id: `card_${number}` } }, ...(signal && { signal }) };
    await client.api.GET("/passes/{id}", init);
    return undefined; // whatever JSON the service sent
  },
];

async function call(number: number): Promise<void> {
  const controller = new AbortController();
  const left = new Error("the caller left");
  const isAborted = number % 16 === 0;
  if (isAborted) setTimeout(() => controller.abort(left), number % 40);
  const startedMs = performance.now();
  // A timer for the same moment, to the end of its turn: what it is late by is the fault of a busy machine.
  const timer = new Promise<number>((resolve) => {
    setTimeout(() => setImmediate(() => resolve(performance.now() - startedMs)), deadlineMs);
  });
  let end = "a result";
  try {
    const id = await calls[number % calls.length]?.(number, isAborted ? controller.signal : undefined);
    if (id !== undefined && id !== `card_${number}`) report.falseCards.push(`${id} for card_${number}`);
    if (id !== undefined) end = "a card";
  } catch (error) {
    end = error === left ? "an abort" : isIssuingError(error) ? error.code : "a foreign error";
    if (end === "a foreign error") report.foreign.push(inspect(error));
    // The program's own key is a member of the error on purpose.
    if (isIssuingError(error)) delete (error as { idempotencyKey?: string }).idempotencyKey;
    checkSecrets(
      `${inspect(error, { depth: 9, showHidden: end === "a foreign error" })} ${JSON.stringify(error)}`,
    );
  }
  report.ends[end] = (report.ends[end] ?? 0) + 1;
  const tookMs = performance.now() - startedMs;
  if (tookMs > deadlineMs && tookMs > 1.1 * (await timer)) report.late.push(`${tookMs} ms: ${end}`);
}

let number = 0;
const work = async () => {
  while (report.responses < Number(count)) await call(number++);
};
await Promise.all(Array.from({ length: 8 }, work));
// Idle connections are closed after five seconds; one whose response was left unread stays open for minutes.
const endMs = performance.now() + 20_000;
while (open.size > 0 && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 50));
report.leftOpen = open.size;
process.stdout.write(JSON.stringify(report), () => process.exit());
