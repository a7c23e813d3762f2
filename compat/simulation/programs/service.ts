/**
 * The service: the mock service on a port. The specification leaves open what a service does in
 * some cases; `ALTERNATIVES` selects the other choice for some of them.
 */
import { createMockService } from "@loyalty-cards/mock-server";
import { type Reply, servicePort } from "../network.ts";

const chosen = new Set((process.env.ALTERNATIVES ?? "").split(","));
const baseUrl = process.env.LOYALTY_URL ?? "";
const service = createMockService({
  baseUrl,
  endpoints: JSON.parse(process.env.ENDPOINTS ?? "[]"),
  storeRefusals: chosen.has("stored refusals"),
  log: () => {},
});
/** What an alternative changes in the responses with a status. */
const changes: [alternative: string, status: number, change: (reply: Reply) => Partial<Reply>][] = [
  ["400 for 422", 422, () => ({ status: 400 })],
  ["200 for 201", 201, () => ({ status: 200 })],
  ["410 for 404", 404, () => ({ status: 410 })],
  ["403 for 404", 404, () => ({ status: 403 })],
  ["relative addresses", 201, ({ body }) => ({ body: body.replace(`"${baseUrl}/`, '"/') })],
  [
    "quoted forms",
    422,
    ({ body }) => ({ body: body.replace('"detail":"', "$&Visitor 1 with 12: ") }),
  ],
];

/** Every card that was issued: the ledger that the checks compare with. */
const issued = new Map<string, { name: string; phone: string; key: string }>();
const running = new Set<string>();
const shown = { service, issued, isDown: false };
export type ShownByService = typeof shown;
simulation.shown = shown;

simulation.listeners.set(servicePort, async ({ method, url, headers, body }) => {
  if (shown.isDown) return { status: 503, headers: {}, body: "" };
  const key = method === "POST" ? (headers["idempotency-key"] ?? "") : "";
  if (key !== "") {
    const inFlight = [409, 423].find((status) => chosen.has(`${status} in flight`));
    if (inFlight !== undefined && running.has(key))
      return toProblem(inFlight, "A request with this key is being processed.");
    const isIssued = [...issued.values()].some((card) => card.key === key);
    if (!isIssued && chosen.has("fickle 422") && Math.random() < 0.3)
      return toProblem(422, "The phone number cannot be checked at the moment.");
  }
  running.add(key);
  // A slow service: the card is issued at the end of this time, also when the caller has gone.
  if (Math.random() < 0.2)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 8_000));
  const request = new Request(url, { method, headers, ...(method !== "GET" && { body }) });
  const response = await service.fetch(request);
  const text = await response.text();
  running.delete(key);
  if (response.status === 201) {
    const { id, fieldValues } = JSON.parse(text);
    const { name = "" } = fieldValues;
    if (!issued.has(id))
      issued.set(id, { name, phone: JSON.parse(body).customer.phone ?? "", key });
  }
  let reply: Reply = {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: text,
  };
  for (const [name, status, change] of changes)
    if (chosen.has(name) && reply.status === status) reply = { ...reply, ...change(reply) };
  // A plain 400 says nothing of the form, so its entry waits until a person acts.
  return chosen.has("plain errors") && reply.status > 400
    ? { ...reply, headers: { "content-type": "text/plain" }, body: "error" }
    : reply;
});

const toProblem = (status: number, detail: string): Reply => ({
  status,
  headers: { "content-type": "application/problem+json" },
  body: JSON.stringify({ type: "about:blank", title: "Conflict", status, detail }),
});
