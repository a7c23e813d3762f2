/** Faults on real sockets: what the client receives, and whether the card is issued. */
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { startMockServer } from "../../src/adapters/node.ts";
import type { FaultInput } from "../../src/index.ts";
import { signUp, template } from "../shop.ts";

async function openServer() {
  const { service, url, close } = await startMockServer({ templates: [template] });
  onTestFinished(close);
  const issue = async (idempotencyKey: string, signal?: AbortSignal) => {
    const response = await fetch(`${url}/api/v1/templates/${template.id}/passes`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${service.apiKeys.website}`,
        "content-type": "application/json",
        "idempotency-key": idempotencyKey,
      },
      body: JSON.stringify(signUp()),
      ...(signal && { signal }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const cards = async () => ((await (await fetch(`${url}/_mock/cards`)).json()) as { total: number }).total;
  return { service, url, issue, cards };
}

const getCode = (error: unknown) => {
  const { message, cause } = error as Error & { cause?: { code?: string } };
  return [message, cause?.code];
};

const phase = "after-commit";
/** From Node 24 on, `fetch` has no code for a response that is not HTTP. */
const malformedCode = Number.parseInt(process.versions.node, 10) < 24 ? "HPE_INVALID_CHUNK_SIZE" : undefined;

describe.each<[Extract<FaultInput, { phase: unknown }>, unknown]>([
  [{ phase, kind: "reset" }, ["fetch failed", "ECONNRESET"]],
  [{ phase, kind: "destroy" }, ["fetch failed", "UND_ERR_SOCKET"]],
  [{ phase, kind: "truncate" }, ["terminated", expect.stringMatching(/^UND_ERR_/)]],
  [{ phase, kind: "malformed" }, ["terminated", malformedCode]],
])("%j", (fault, seen) => {
  it("breaks the connection after the card was issued", async () => {
    const { service, issue, cards } = await openServer();
    service.faults.add({ ...fault, times: 1 });
    expect(await issue("user-1").catch(getCode)).toEqual(seen);
    expect(await cards()).toBe(1);
    expect([(await issue("user-1")).status, await cards()]).toEqual([201, 1]);
  });

  it("issues one card for 30 calls with one key", async () => {
    const { service, issue, cards } = await openServer();
    service.faults.add({ ...fault, times: 20 });
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => issue("user-1")));
    expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(10);
    expect(await cards()).toBe(1);
  });

  it("issues no card before processing", async () => {
    const { service, issue, cards } = await openServer();
    service.faults.add({ ...fault, phase: "before", times: 1 });
    expect(await issue("user-1").catch(getCode)).toEqual(seen);
    expect(await cards()).toBe(0);
  });
});

it("sends nothing until the caller aborts", async () => {
  const { service, issue, cards } = await openServer();
  service.faults.add({ phase, kind: "hang", times: 1 });
  const caller = new AbortController();
  const issuing = issue("user-1", caller.signal).catch((error) => error.name);
  await expect.poll(cards).toBe(1);
  caller.abort();
  expect(await issuing).toBe("AbortError");
});

it("sends statuses, HTML pages and delayed responses completely", async () => {
  const { service, issue } = await openServer();
  service.faults.add({ phase, kind: "status", status: 503, retryAfterSeconds: 3, times: 1 });
  service.faults.add({ phase, kind: "html", times: 1 });
  service.faults.add({ phase, kind: "latency", delayMs: 20, times: 1 });
  const unavailable = await issue("user-1");
  expect([unavailable.status, unavailable.headers.get("retry-after")]).toEqual([503, "3"]);
  const page = await issue("user-1");
  expect([page.status, page.headers.get("content-type")]).toEqual([502, "text/html; charset=utf-8"]);
  expect((await issue("user-1")).status).toBe(201);
});

it("sends status 201 and half of the body, and then nothing", async () => {
  const { service, url } = await openServer();
  service.faults.add({ phase, kind: "truncate", times: 1 });
  const body = JSON.stringify(signUp());
  const { hostname, port } = new URL(url);
  const text = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname);
    let said = "";
    socket.on("data", (chunk) => (said += chunk)).on("close", () => resolve(said));
    socket.write(
      `POST /api/v1/templates/${template.id}/passes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.apiKeys.website}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  });
  const [head = "", half = ""] = text.split("\r\n\r\n");
  const announced = Number(/content-length: (\d+)/.exec(head)?.[1]);
  expect([head.startsWith("HTTP/1.1 201 "), half.length]).toEqual([true, announced >> 1]);
});
