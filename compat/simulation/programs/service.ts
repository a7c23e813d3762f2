/**
 * The service: the mock service on a port. The specification leaves open what a service does in some cases; `ALTERNATIVES` selects
 * the other choice for some of them.
 */
import { createMockService } from "@loyalty-cards/mock-server";
import type { Listener, Reply } from "../process.ts";

const { simulation } = globalThis as unknown as {
  simulation: { listen(port: number, listener: Listener): void; handles: Record<string, unknown> };
};

const chosen = new Set((process.env.ALTERNATIVES ?? "").split(",").filter(Boolean));
const service = createMockService({
  baseUrl: process.env.LOYALTY_URL ?? "",
  endpoints: JSON.parse(process.env.ENDPOINTS ?? "[]"),
  storeRefusals: chosen.has("stored refusals"),
  log: () => {},
});

/** Every card that was issued: the ledger that the checks compare with. */
const issued = new Map<string, { name: string; phone: string; key: string }>();
const running = new Set<string>();
simulation.handles["service"] = service;
simulation.handles["issued"] = issued;
simulation.handles["isDown"] = false;

simulation.listen(4010, async ({ method, url, headers, body }) => {
  if (simulation.handles["isDown"]) return { status: 503, headers: {}, body: "" };
  const key = method === "POST" ? (headers["idempotency-key"] ?? "") : "";
  const inFlight = chosen.has("409 in flight") ? 409 : chosen.has("423 in flight") ? 423 : undefined;
  if (key !== "" && inFlight !== undefined && running.has(key))
    return toProblem(inFlight, "A request with this key is being processed.");
  const isIssued = [...issued.values()].some((card) => card.key === key);
  if (key !== "" && !isIssued && chosen.has("fickle 422") && Math.random() < 0.3)
    return toProblem(422, "The phone number cannot be checked at the moment.");
  running.add(key);
  // A slow service: the card is issued at the end of this time, also when the caller has gone.
  if (Math.random() < 0.2) await new Promise((resolve) => setTimeout(resolve, Math.random() * 8_000));
  const response = await service.fetch(
    new Request(url, { method, headers, ...(method !== "GET" && { body }) }),
  );
  const text = await response.text();
  running.delete(key);
  if (response.status === 201) record(text, body, key);
  return change({ status: response.status, headers: Object.fromEntries(response.headers), body: text });
});

function record(text: string, body: string, key: string): void {
  const card = JSON.parse(text) as { id: string; fieldValues: { name?: string } };
  const { customer } = JSON.parse(body) as { customer: { phone?: string } };
  if (!issued.has(card.id))
    issued.set(card.id, { name: card.fieldValues.name ?? "", phone: customer.phone ?? "", key });
}

function change(reply: Reply): Reply {
  let { status, headers, body } = reply;
  if (status === 422 && chosen.has("400 for 422")) status = 400;
  if (status === 201 && chosen.has("200 for 201")) status = 200;
  if (status === 404 && chosen.has("410 for 404")) status = 410;
  if (status === 404 && chosen.has("403 for 404")) status = 403;
  if (status === 201 && chosen.has("relative addresses"))
    body = JSON.stringify({ ...JSON.parse(body), publicUrl: new URL(JSON.parse(body).publicUrl).pathname });
  if (status === 422 && chosen.has("quoted forms"))
    body = JSON.stringify({ ...JSON.parse(body), detail: `Visitor 1 with 12 is not valid.` });
  if (status >= 400 && chosen.has("plain errors")) {
    headers = { "content-type": "text/plain" };
    body = "error";
  }
  return { status, headers, body };
}

const toProblem = (status: number, detail: string): Reply => ({
  status,
  headers: { "content-type": "application/problem+json" },
  body: JSON.stringify({ type: "about:blank", title: "Conflict", status, detail }),
});
