/**
 * Random raw requests from a seed: the process survives, and every response is valid HTTP and not a
 * 5xx.
 */
import { connect } from "node:net";
import { createDraw } from "@loyalty-cards/testing/draw";
import { expect, it } from "vitest";
import { start } from "./command.ts";

/** RANDOM_REQUESTS=100000 makes it longer. */
const runs = Number(process.env["RANDOM_REQUESTS"] ?? 1_500);
const seed = Number(process.env["RANDOM_SEED"] ?? Math.floor(Math.random() * 2 ** 32));
const timeLimitMs = 60_000 + runs * 10;
const connectionsAtOnce = 20;

type Random = () => number;

const issuePath = "/api/v1/templates/tpl_mock/passes";

const signUp = { fieldValues: {}, customer: { consents: { privacy: { version: "1" } } } };
const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

const encodedPaths = [
  "/api/v1/passes/%E0%A4%A",
  "/api/v1/../v1/passes/%2e%2e",
  "/console/%00",
  "/%",
];
const unknownPaths = [
  "/",
  "//",
  "///a//b",
  "/ a b",
  "/\u00e9\u00ff",
  "/api/v1",
  "/api/docs/../../../etc/passwd",
];
const longPaths = [`/${"a".repeat(9_000)}`, `/${"a".repeat(20_000)}`];
const otherForms = [
  "*",
  "?",
  "#",
  "http://a:99999/",
  "http://[::1/",
  "https://",
  "mailto:a@b",
  "a:b",
];
const strangeTargets = [...encodedPaths, ...unknownPaths, ...longPaths, ...otherForms];
const segments = ["card_1", "tpl_mock", "constructor", "__proto__", "google"];
const queries = [
  "",
  "",
  "?limit=%00",
  "?limit=1e9&offset=99999999999999999999",
  "?state=x&query=__proto__",
];

const pages = [
  "/",
  "/api/docs",
  "/api/docs/*",
  "/assets/*",
  "/cards/*",
  "/cards/*/*",
  "/console",
  "/console/*",
];

/**
 * The pages, and the routes that the service lists for a path of none; `*` is a variable segment.
 */
async function readRoutes(baseUrl: string): Promise<string[]> {
  const lists = ["/nothing", "/_mock/nothing"].map(async (path) => {
    const { detail } = (await (await fetch(baseUrl + path)).json()) as { detail: string };
    return [...detail.matchAll(/[A-Z]+ (\/[\w/*-]+)/g)].map(([, route = ""]) => route);
  });
  return [...pages, ...(await Promise.all(lists)).flat()];
}

const methods = [
  "GET",
  "GET",
  "POST",
  "POST",
  "POST",
  "PUT",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "TRACE",
];
const strangeMethods = ["CONNECT", "get", "G@T", "", "PRI", "POST POST"];
const versions = ["HTTP/1.0", "HTTP/2.0", "HTTP/9.9", "http/1.1", "HTTP/1.1 x", ""];
const bodies = [
  JSON.stringify(signUp),
  JSON.stringify({ ...signUp, fieldValues: { __proto__: 1, points: 1 } }),
  '{"customer":{"consents":{"privacy":{"version":"1"}},"phone":"\\ud800"},"fieldValues":{"points":1e400}}',
  `{"customer":{"consents":{"privacy":{"version":"1"}}},"fieldValues":{"name":${deep(100_000)}}}`,
  `{"customer":${deepObject(60_000)}}`,
  `{"event":{"data":${deepObject(50_000)}},"timeoutMs":1}`,
  `{"card":{"id":"card_1","fieldValues":${deep(65)}},"timeoutMs":1}`,
  '{"event":{"type":"ping"},"count":1e3,"timeoutMs":1}',
  '{"delivery":{"state":"__proto__"},"timeoutMs":-1}',
  '{"kind":"html","phase":"before","status":204}',
  '{"kind":"latency","phase":"before","delayMs":1e999}',
  '{"kind":"duplicate","match":{"event":"constructor"}}',
  '{"name":"T","fields":[{"key":"__proto__","type":"text"}],"tiers":[{"name":"x","from":-1e308}]}',
  '{"url":"https://127.0.0.1:1/","events":["balance.changed"]}',
  '{"url":"http://user:secret@[::1]:99999","events":[]}',
  '{"duration":"365000d"}',
  '{"mode":"scaled","factor":1e6}',
  '{"mode":"system"}',
  '{"kind":"full","name":"\\u0000"}',
  '{"points":1e308}',
  '{"marketing":true,"version":""}',
  deep(200_000),
  "null",
  "[]",
  '"',
  "",
  "\u00ff\u00fe",
  "x".repeat(70_000),
];

interface RawRequest {
  bytes: Buffer;
  target: string;
  method: string;
  /**
   * One that the parser takes, and that asks for the connection to be closed: it must get a
   * response.
   */
  isWhole: boolean;
  ending: "wait" | "end" | "destroy";
  pieces: number;
}

function rawRequest(random: Random, routes: readonly string[]): RawRequest {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
  const seldom = (share: number) => random() < share;
  const isStrange = seldom(0.1);
  const method = isStrange ? pick(strangeMethods) : pick(methods);
  const route = seldom(0.3) ? pick(strangeTargets) : seldom(0.2) ? issuePath : pick(routes);
  const target =
    route === "*" ? route : route.replaceAll("*", () => pick(segments)) + pick(queries);
  const version = seldom(0.06) ? pick(versions) : "HTTP/1.1";
  const body = method === "GET" || method === "HEAD" ? "" : pick(bodies);
  const lines: string[] = [];
  const hosts = seldom(0.06) ? pick([0, 2]) : 1;
  for (let count = 0; count < hosts; count++)
    lines.push(`host: ${pick(["127.0.0.1", "localhost:1", "[", ""])}`);
  if (!seldom(0.1))
    lines.push(`authorization: Bearer ${pick(["mock_website_key", "mock_full_key", "wrong"])}`);
  if (!seldom(0.1))
    lines.push(`content-type: ${pick(["application/json", "application/json", "text/plain"])}`);
  if (seldom(0.2)) lines.push(`idempotency-key: ${pick(["k", "", "\u00e9", "x".repeat(300)])}`);
  if (seldom(0.1)) lines.push("expect: 100-continue");
  if (seldom(0.05)) lines.push("expect: the impossible");
  if (seldom(0.1)) lines.push("upgrade: websocket", "sec-websocket-key: x");
  if (seldom(0.1))
    lines.push(`origin: ${pick(["null", "http://evil.test", "\u00e9", "http://["])}`);
  if (seldom(0.05)) for (let count = 0; count < 300; count++) lines.push(`x-${count}: y`);
  const isSpoiled = seldom(0.1);
  if (isSpoiled)
    lines.push(
      pick([`x: ${"y".repeat(20_000)}`, "no colon", "x: \u0000", " folded", ": x", "x\u0001: y"]),
    );
  const isMisframed = seldom(0.15);
  const length = Buffer.byteLength(body, "latin1");
  if (isMisframed) {
    lines.push(
      ...pick([
        [`content-length: ${length + 10}`],
        ["content-length: -1"],
        [`content-length: ${length}`, `content-length: ${length + 1}`],
        ["transfer-encoding: chunked"],
        ["transfer-encoding: gzip, chunked"],
        [`content-length: ${length}`, "transfer-encoding: chunked"],
        [],
      ]),
    );
  } else lines.push(`content-length: ${length}`);
  lines.push("connection: close");
  const head = `${method} ${target} ${version}\r\n${lines.join("\r\n")}\r\n\r\n`;
  const isUnreadable =
    otherForms.includes(route) ||
    /[^!-~]/.test(target) ||
    hosts === 0 ||
    lines.some((text) => ["host: [", "expect: the impossible"].includes(text));
  const isReadable = !(isMisframed || isSpoiled || isStrange || isUnreadable);
  const isWhole = isReadable && version === "HTTP/1.1" && head.length < 16_000;
  const ending = seldom(0.1) ? "destroy" : isWhole ? "wait" : "end";
  return {
    bytes: Buffer.from(head + body, "latin1"),
    target,
    method,
    isWhole,
    ending,
    pieces: pick([1, 1, 2, 5]),
  };
}

/** Sends it, and returns everything that came back before the connection closed. */
function send(port: number, { bytes, ending, pieces }: RawRequest): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}); // a reset is the server's right while bytes are still coming
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(received)));
    const size = Math.ceil(bytes.length / pieces);
    const write = (at: number) => {
      if (at < bytes.length)
        socket.write(bytes.subarray(at, at + size), () => setImmediate(write, at + size));
      else if (ending === "destroy") socket.destroy();
      else if (ending === "end") socket.end();
    };
    write(0);
  });
}

/**
 * The statuses with which Node.js itself responds to what it cannot parse, without a body or a
 * type.
 */
const ofNode = [400, 408, 413, 417, 431];

function expectSound(request: RawRequest, received: Buffer): void {
  const about = `RANDOM_SEED=${seed}: ${JSON.stringify(request.bytes.toString("latin1").slice(0, 600))}`;
  // Each request asks for the connection to be closed, so one response follows at most a 100.
  const text = received.toString("latin1").replace("HTTP/1.1 100 Continue\r\n\r\n", "");
  if (request.ending === "destroy" || (text === "" && !request.isWhole)) return;
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const body = Buffer.from(text.slice(end + 4), "latin1").toString("utf8");
  expect(statusLine, about).toMatch(/^HTTP\/1\.1 [1-4]\d\d [\t -~]*$/);
  for (const line of lines) expect(line, about).toMatch(/^[\w-]+: [\t -~]*$/);
  const status = Number(statusLine.split(" ")[1]);
  const headers = new Headers(lines.map((line) => line.split(": ", 2) as [string, string]));
  const length = headers.get("content-length");
  if (request.method !== "HEAD" && length !== null)
    expect(text.length - end - 4, about).toBe(Number(length));
  if (status < 400 || (body === "" && request.method === "HEAD")) return;
  const isPage = headers.get("content-type")?.startsWith("text/html");
  if (isPage && /^\/(cards|console)\//.test(request.target)) return;
  if (ofNode.includes(status) && !headers.has("content-type")) return;
  expect(headers.get("content-type"), about).toBe("application/problem+json");
  expect(JSON.parse(body), about).toMatchObject({
    type: "about:blank",
    title: expect.any(String),
    status,
  });
}

it(`survives ${runs} random raw requests, and its responses are valid`, {
  timeout: timeLimitMs,
}, async () => {
  const { child, firstOutput, exit } = start("--port", "0", "--json", "--quiet");
  const { baseUrl } = JSON.parse(await firstOutput);
  const port = Number(new URL(baseUrl).port);
  const routes = await readRoutes(baseUrl);
  expect(routes.length).toBeGreaterThan(50);
  let next = 0;
  let sound = 0;
  const visitor = async () => {
    while (next < runs) {
      const request = rawRequest(createDraw(seed + next++).next, routes);
      expectSound(request, await send(port, request));
      sound += 1;
    }
  };
  await Promise.all(Array.from({ length: connectionsAtOnce }, visitor));
  expect(sound).toBe(runs);
  expect((await fetch(`${baseUrl}/_mock/health`)).status).toBe(200);
  expect(child.exitCode).toBeNull();
  child.kill("SIGTERM");
  const { code, stderr } = await exit;
  const warning = /^warning: Other content under the same key.*\n/gm;
  expect([code, stderr.replace(warning, "")]).toEqual([0, ""]);
});
