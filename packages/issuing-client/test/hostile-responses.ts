/**
 * Calls a hostile service, whose raw responses are drawn from a seed, and prints a report as JSON.
 * A process of its own, so that uncaught errors and open sockets are counted. Arguments: the
 * transport, how many responses, the seed, and `undici` to load the package of that name first.
 */

import { createServer, type Socket } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { inspect } from "node:util";
import { deflateSync, gzipSync } from "node:zlib";
import { createDraw } from "@loyalty-cards/testing/draw";
import { signUp } from "@loyalty-cards/testing/scripted-client";
import type { Fetch } from "../src/transport-fetch.ts";

// The responses: any status, broken headers, lies about the body, cuts, extra bytes.

interface HostileResponse {
  /** Written one after another, with a turn of the event loop between. */
  writes: readonly Uint8Array[];
  /**
   * What follows the last write; with `stall` the connection stays open although the response is
   * incomplete.
   */
  end: "keep" | "stall" | "finish" | "destroy" | "reset";
}

type Draw = ReturnType<typeof createDraw>;

const evil = '{"id":"card_of_somebody_else","publicUrl":"https://evil.test/1","loyaltyBalance":9}';
const statuses = [
  200, 200, 200, 201, 201, 201, 204, 205, 304, 307, 401, 404, 409, 422, 429, 500, 503,
];
const bomb = gzipSync(" ".repeat(20_000_000));
const deep = "[".repeat(50_000);

/**
 * @param card JSON of the card that the request asks for.
 * @param echo text of the request, with its key.
 */
function drawResponse(seed: number, card: string, echo: string): HostileResponse {
  const draw = createDraw(seed);
  const chance = (percent: number) => draw.below(100) < percent;
  const status = chance(70) ? draw.pick(statuses) : 101 + draw.below(499);
  const { bytes: body, encoding } = drawBody(draw, card, echo);
  const [framing, framed] = drawFraming(draw, body);
  const reason = draw.pick(["OK", "", "Utworzono pomyślnie", echo, "\u0001", "x".repeat(2_000)]);
  const lines = [`HTTP/1.1 ${status} ${reason}`, ...drawHeaders(draw, echo), ...framing];
  if (encoding !== undefined) lines.push(`content-encoding: ${encoding}`);
  const storm = chance(8) ? drawInformational(draw) : "";
  // After a 1xx another response would be the response.
  const extra = chance(10) && status >= 200 ? drawExtra(draw) : "";
  const head = Buffer.from(`${storm}${lines.join("\r\n")}\r\n\r\n`, "latin1");
  let bytes: Uint8Array = Buffer.concat([head, framed, Buffer.from(extra)]);
  const isCut = chance(15);
  if (isCut) bytes = bytes.subarray(0, draw.below(bytes.length));
  const end = isCut
    ? draw.pick(["stall", "finish", "destroy", "reset"] as const)
    : draw.pick(["keep", "keep", "keep", "keep", "finish", "destroy", "reset"] as const);
  return { writes: split(draw, bytes, head.length + framed.length - 1), end };
}

type Body = { bytes: Uint8Array; encoding?: string };

function drawBody(draw: Draw, card: string, echo: string): Body {
  const text = draw.pick([
    ...Array<string>(12).fill(card),
    "",
    "null",
    "[]",
    "{}",
    '{"id":7,"publicUrl":null}',
    `<html>${echo}</html>`,
    JSON.stringify({
      title: echo,
      detail: echo,
      errors: [{ pointer: `/customer/${echo}`, detail: echo }],
    }),
    deep,
    `\ufeff${card}`,
    card.slice(0, -1),
    `\u0000\u{10ffff}${card}`,
  ]);
  const bytes = Buffer.from(text);
  if (draw.below(2) === 0) return { bytes };
  return draw.pick<() => Body>([
    () => ({ bytes: gzipSync(bytes), encoding: "gzip" }),
    () => ({ bytes: deflateSync(bytes), encoding: "deflate" }),
    () => ({ bytes: gzipSync(bytes).subarray(0, 15), encoding: "gzip" }),
    () => ({ bytes: gzipSync(gzipSync(bytes)), encoding: "gzip, gzip" }),
    ...["gzip", "br", "constructor"].map((encoding) => () => ({ bytes, encoding })),
    () => ({ bytes: bomb, encoding: "gzip" }),
  ])();
}

/** @returns the headers and the bytes of the body. */
function drawFraming(draw: Draw, body: Uint8Array): [headers: string[], bytes: Uint8Array] {
  const chunk = (bytes: Uint8Array, size = bytes.length.toString(16)) =>
    Buffer.concat([Buffer.from(`${size}\r\n`), bytes, Buffer.from("\r\n")]);
  const chunks = (...parts: Uint8Array[]) => Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
  const length = (value: number | string) => `content-length: ${value}`;
  const chunked = "transfer-encoding: chunked";
  if (draw.below(2) === 0) return [[length(body.length)], body];
  return draw.pick<() => [string[], Uint8Array]>([
    () => [[chunked], chunks(chunk(body))],
    () => [
      [chunked],
      chunks(...Array.from(body.subarray(0, 300), (byte) => chunk(Buffer.from([byte])))),
    ],
    () => [[], body],
    () => [[length(body.length + 1 + draw.below(1_000))], body],
    () => [[length(draw.below(body.length + 1))], body],
    () => [[length(draw.pick(["-1", "1e9", "", "x", "9".repeat(20), `${body.length}, 5`]))], body],
    () => [[length(5), length(body.length)], body],
    () => [[length(5), chunked], chunks(chunk(body))],
    () => [["transfer-encoding: gzip, chunked"], chunks(chunk(body))],
    () => [["transfer-encoding: identity"], body],
    () => [[chunked], chunk(body)], // without an end
    () => [
      [chunked],
      chunk(body, draw.pick(["zz", "f".repeat(18), "-1", "", `1;${"x=".repeat(10_000)}`])),
    ],
    () => [[chunked], Buffer.concat([chunk(body), Buffer.from("0\r\nx-trailer: \u0001\r\n\r\n")])],
  ])();
}

const brokenHeaders = [
  "no colon",
  ": no name",
  "bad name: x",
  "b(a)d: x",
  "na\u00efve: \u00fc\u00ff",
  "x-nul: a\u0000b",
  "x-control: \u0001\u007f",
  "x-lf: a\nb: c",
  "x-cr: a\rb",
  "x-folded: a\r\n b",
  "x-delete: \u007f",
  "location: //evil.test",
  "location: http://[\u0001",
  "retry-after: 0",
  "retry-after: 999999999999",
  "retry-after: Wed, 31 Feb 2026 00:00:00 GMT",
  `deprecation: ${"@".repeat(5_000)}`,
  "connection: close",
  "connection: upgrade\r\nupgrade: x",
  "content-type: text/html; charset=utf-16",
  "content-type: application/json; charset=\u0000",
  `x-bomb: ${"x".repeat(100_000)}`,
  Array.from({ length: 3_000 }, (_, index) => `x-${index}: x`).join("\r\n"),
  "__proto__: x",
  "constructor: x",
];

function drawHeaders(draw: Draw, echo: string): string[] {
  const headers = ["content-type: application/json"];
  const count = draw.pick([0, 0, 0, 0, 1, 1, 2, 5]);
  for (let index = 0; index < count; index++) headers.push(draw.pick(brokenHeaders));
  const echoed = draw.pick(["x-echo", "set-cookie", "www-authenticate", "location"]);
  return draw.below(10) === 0 ? [...headers, `${echoed}: ${echo}`] : headers;
}

/** 1xx before the response; 101 changes the protocol. */
function drawInformational(draw: Draw): string {
  const status = () =>
    draw.pick([100, 102, 103, 103, 110, 199, ...(draw.below(5) === 0 ? [101] : [])]);
  const one = () => `HTTP/1.1 ${status()} Wait\r\nlink: </a>\r\n\r\n`;
  return Array.from({ length: draw.pick([1, 2, 50, 2_000]) }, one).join("");
}

/**
 * In the same write as the end of the response: bytes that arrive with the next response cannot be
 * distinguished from it.
 */
const drawExtra = (draw: Draw) =>
  draw.pick([
    "\r\n",
    "x",
    `HTTP/1.1 201 Created\r\ncontent-length: ${evil.length}\r\n\r\n${evil}`,
    "HTTP/1.1 201 Created\r\ncontent-le",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "\u0000".repeat(70_000),
  ]);

/** Splits before the last byte of the response. */
function split(draw: Draw, bytes: Uint8Array, last: number): Uint8Array[] {
  const pace = draw.below(10);
  if (pace < 7) return [bytes];
  const all =
    pace < 9
      ? [draw.below(bytes.length + 1)]
      : Array.from({ length: 200 }, (_, index) => index + 1);
  const at = all.filter((each) => each <= last);
  return [0, ...at]
    .map((start, index) => bytes.subarray(start, at[index]))
    .filter(({ length }) => length > 0);
}

// The process: it calls the service over the transport, and counts.

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

async function respond(
  socket: Socket,
  { writes, end }: ReturnType<typeof drawResponse>,
): Promise<void> {
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
const fetches: Record<string, Fetch | undefined> = {
  fetch: globalThis.fetch,
  undici: undici?.fetch,
};
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

const calls: ((number: number, signal: AbortSignal | undefined) => Promise<string | undefined>)[] =
  [
    async (number, signal) =>
      (await client.issueCard("tpl_1", signUp, { idempotencyKey: `${keyPrefix}${number}`, signal }))
        .id,
    async (number, signal) => (await client.getCard(`card_${number}`, { signal })).id,
    async (number, signal) => {
      const init = { params: { path: { id: `card_${number}` } }, ...(signal && { signal }) };
      await client.api.GET("/passes/{id}", init);
      return undefined; // whatever JSON the service sent
    },
  ];

const pauses = monitorEventLoopDelay();
pauses.enable();

async function call(number: number): Promise<void> {
  const controller = new AbortController();
  const left = new Error("the caller left");
  const isAborted = number % 16 === 0;
  if (isAborted) setTimeout(() => controller.abort(left), number % 40);
  const startedMs = performance.now();
  // A timer for the same moment, to the end of its turn: what it is late by is the fault of a busy
  // machine.
  const timer = new Promise<number>((resolve) => {
    setTimeout(() => setImmediate(() => resolve(performance.now() - startedMs)), deadlineMs);
  });
  let end = "a result";
  let tookMs: number;
  try {
    const id = await calls[number % calls.length]?.(
      number,
      isAborted ? controller.signal : undefined,
    );
    tookMs = performance.now() - startedMs;
    if (id !== undefined && id !== `card_${number}`)
      report.falseCards.push(`${id} for card_${number}`);
    if (id !== undefined) end = "a card";
  } catch (error) {
    tookMs = performance.now() - startedMs; // before the checks, which take long on a busy machine
    end = error === left ? "an abort" : isIssuingError(error) ? error.code : "a foreign error";
    if (end === "a foreign error") report.foreign.push(inspect(error));
    // The program's own key is a member of the error on purpose.
    if (isIssuingError(error)) delete (error as { idempotencyKey?: string }).idempotencyKey;
    checkSecrets(
      `${inspect(error, { depth: 9, showHidden: end === "a foreign error" })} ${JSON.stringify(error)}`,
    );
  }
  report.ends[end] = (report.ends[end] ?? 0) + 1;
  // The machine can also stop between this timer and that of the call.
  const pauseMs = pauses.max / 1e6;
  if (tookMs > deadlineMs && tookMs > 1.1 * (await timer) + pauseMs)
    report.late.push(`${tookMs} ms: ${end}`);
}

let number = 0;
/** About five responses of 300 are cards, and a few seeds have none: those go on to the first one. */
const isOver = () => {
  const hasCard = report.ends["a card"] !== undefined;
  return report.responses >= Number(count) * (hasCard ? 1 : 10);
};
const work = async () => {
  while (!isOver()) await call(number++);
};
await Promise.all(Array.from({ length: 8 }, work));
// Idle connections are closed after five seconds; one whose response was left unread stays open for
// minutes.
const endMs = performance.now() + 20_000;
while (open.size > 0 && performance.now() < endMs)
  await new Promise((resolve) => setTimeout(resolve, 50));
report.leftOpen = open.size;
process.stdout.write(JSON.stringify(report), () => process.exit());
