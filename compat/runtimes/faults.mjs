/**
 * The fault matrix: what the service or the network does at each attempt, and what the client must return or throw. Its rows depend on
 * how a runtime sends and receives; the tests of the client have the others.
 */

const card = JSON.stringify({ id: "card_1", publicUrl: "https://cards.test/1", loyaltyBalance: 0 });
const jsonHeaders = { "content-type": "application/json" };

const respond =
  (status, headers = {}, body = "") =>
  ({ response }) =>
    response.writeHead(status, headers).end(body);

const raw =
  (text) =>
  ({ request }) =>
    request.socket.end(text);

/** Sends the head and a part of the body, and then closes the connection or sends nothing more. */
const part =
  (status, then) =>
  ({ request, response }) => {
    response.writeHead(status, { ...jsonHeaders, "content-length": card.length });
    response.write(card.slice(0, 12), () => {
      if (then === "cut") request.socket.destroy();
    });
  };
const drip = ({ response }) => {
  response.writeHead(201, { ...jsonHeaders, "content-length": card.length });
  let sent = 0;
  const timer = setInterval(() => {
    response.write(card[sent++]);
    if (sent === card.length) clearInterval(timer);
  }, 50);
  response.on("close", () => clearInterval(timer));
};
const noResponse = () => {};
const tooLong = " ".repeat(5 * 1024 * 1024);
const reset = ({ request }) => request.socket.resetAndDestroy();
const close = ({ request }) => request.socket.destroy();

/** For rows without a response. Long enough that a busy machine does not add timeouts of its own. */
const timeLimit = { timeoutMs: 1_000 };

const isIssued = (attempts) => ({ ok: true, attempts });

/**
 * `script` has one entry per attempt; later attempts get a card. `runtimeMayRetry` names the runtimes whose own fetch
 * sends a request again, unseen by the client, when a kept-alive connection closes without a response.
 */
export const faults = [
  { name: "503, 503, then the card", script: [respond(503), respond(503)], expected: isIssued(3) },
  {
    name: "503 with two Retry-After lines",
    script: [
      raw(
        "HTTP/1.1 503 X\r\nretry-after: 7\r\nretry-after: 9\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
      ),
    ],
    expected: { ...isIssued(2), atMostMs: 6900 },
  },
  {
    name: "a reset connection, then the card",
    script: [reset],
    expected: isIssued(2),
    runtimeMayRetry: ["Deno"],
  },
  {
    name: "a closed connection, then the card",
    script: [close],
    expected: isIssued(2),
    runtimeMayRetry: ["Deno"],
  },
  {
    name: "a reset connection always",
    script: Array(9).fill(reset),
    expected: { code: "network", outcome: "unknown", attempts: 3 },
  },
  { name: "no response, then the card", script: [noResponse], options: timeLimit, expected: isIssued(2) },
  {
    name: "no response ever",
    options: timeLimit,
    script: Array(9).fill(noResponse),
    expected: { code: "timeout", outcome: "unknown", attempts: 3 },
  },
  {
    name: "no response until the deadline",
    script: Array(9).fill(noResponse),
    options: { timeoutMs: 10_000, deadlineMs: 1_500 },
    expected: { code: "deadline", outcome: "unknown", attempts: 1, atMostMs: 6_000 },
  },
  {
    name: "201 with a body that is cut",
    script: [part(201, "cut"), part(201, "cut")],
    expected: isIssued(3),
  },
  {
    name: "201 with a body that stalls",
    options: timeLimit,
    script: [part(201, "stall"), part(201, "stall")],
    expected: isIssued(3),
  },
  {
    name: "201 with a body that arrives byte by byte",
    script: [drip],
    options: timeLimit,
    expected: isIssued(2),
  },
  { name: "201 with an empty body", script: [respond(201, jsonHeaders)], expected: isIssued(2) },
  {
    name: "201 with a malformed chunk",
    script: [
      raw(
        "HTTP/1.1 201 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{\r\n",
      ),
    ],
    expected: isIssued(2),
  },
  {
    name: "201 with content-encoding gzip and a plain body",
    script: [respond(201, { ...jsonHeaders, "content-encoding": "gzip" }, card)],
    expected: isIssued(2),
  },
  { name: "garbage instead of HTTP", script: [raw("what?\r\n\r\n")], expected: isIssued(2) },
  { name: "503 with a body that is cut", script: [part(503, "cut")], expected: isIssued(2) },
  {
    name: "503 with a body that stalls",
    script: [part(503, "stall")],
    options: timeLimit,
    expected: isIssued(2),
  },
  {
    name: "503 with more than 4 MiB, then the card",
    script: [respond(503, {}, tooLong)],
    expected: isIssued(2),
  },
  {
    name: "500 with more than 4 MiB always",
    script: Array(9).fill(respond(500, {}, tooLong)),
    expected: { code: "server", outcome: "unknown", retryable: true, attempts: 3 },
  },
  {
    name: "404 with more than 4 MiB",
    script: [respond(404, {}, tooLong)],
    expected: { code: "not-found", outcome: "rejected", attempts: 1 },
  },
  {
    name: "503 with content-encoding gzip and a plain body",
    script: [respond(503, { "content-encoding": "gzip" }, "{}")],
    expected: isIssued(2),
  },
  {
    name: "422 with problem details",
    script: [
      respond(422, { "content-type": "application/problem+json" }, '{"detail":"Please fill in the name."}'),
    ],
    expected: {
      code: "validation",
      outcome: "rejected",
      attempts: 1,
      userMessage: "Please fill in the name.",
    },
  },
  {
    name: "a redirect to another address",
    script: [({ response, elsewhere }) => response.writeHead(307, { location: elsewhere }).end()],
    expected: { code: "invalid-response", retryable: false, attempts: 1 },
  },
  {
    name: "a port where no server listens",
    base: "refused",
    script: [],
    expected: { code: "network", outcome: "not-sent", attempts: 3 },
    // workerd reports "Network connection lost." for every failed connection.
    expectedByRuntime: { workerd: { outcome: "unknown" } },
  },
  {
    name: "a self-signed certificate",
    base: "tls",
    script: [],
    expected: { code: "network", attempts: 3 },
  },
  {
    name: "https:// with a port that speaks http",
    base: "notTls",
    script: [],
    expected: { code: "configuration", outcome: "not-sent", attempts: 1 },
    expectedByRuntime: { workerd: { code: "network", outcome: "unknown", attempts: 3 } },
  },
  {
    name: "an abort during the request",
    script: [noResponse],
    abortAfterMs: 100,
    expected: { aborted: true, atMostMs: 8000 },
  },
];
