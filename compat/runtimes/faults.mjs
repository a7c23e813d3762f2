/**
 * The fault matrix: what the service or the network does at each attempt, and what the client must
 * return or throw. Its rows depend on how a runtime sends and receives; the tests of the client
 * have the others.
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

/**
 * For rows without a response. Long enough that a busy machine does not add timeouts of its own.
 */
const timeLimit = { options: { timeoutMs: 2_000 } };

const isIssued = (attempts) => ({ ok: true, attempts });
const fails = (code, outcome, attempts) => ({ code, outcome, attempts });
const always = (behaviour) => Array(9).fill(behaviour);

/**
 * `script` has one entry per attempt; later attempts get a card. `runtimeMayRetry` names the
 * runtimes whose own fetch sends a request again, unseen by the client, when a kept-alive
 * connection closes without a response.
 */
const fault = (name, script, expected, more = {}) => ({ name, script, expected, ...more });
const denoMayRetry = { runtimeMayRetry: ["Deno"] };

/** Here an error of TLS does not say whether the handshake had finished. */
const withoutTlsPhase = [
  "Bun",
  "workerd",
  "Node 20 over fetch",
  "Node 24 over fetch",
  "fetch of undici 6",
  "fetch of undici 7",
  "fetch of undici 8",
];

const twoLines = "retry-after: 7\r\nretry-after: 9";
const badChunk = "transfer-encoding: chunked\r\n\r\nzz\r\n{\r\n";
const gzip = { "content-encoding": "gzip" };
const problem = { "content-type": "application/problem+json" };

export const faults = [
  fault("503, 503, then the card", [respond(503), respond(503)], isIssued(3)),
  fault(
    "503 with two Retry-After lines",
    [raw(`HTTP/1.1 503 X\r\n${twoLines}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)],
    { ...isIssued(2), atMostMs: 6900 },
  ),
  fault("a reset connection, then the card", [reset], isIssued(2), denoMayRetry),
  fault("a closed connection, then the card", [close], isIssued(2), denoMayRetry),
  fault("a reset connection always", always(reset), fails("network", "unknown", 3)),
  fault("no response, then the card", [noResponse], isIssued(2), timeLimit),
  fault("no response ever", always(noResponse), fails("timeout", "unknown", 3), timeLimit),
  fault(
    "no response until the deadline",
    always(noResponse),
    { ...fails("deadline", "unknown", 1), atMostMs: 6_000 },
    { options: { timeoutMs: 10_000, deadlineMs: 1_500 } },
  ),
  fault("201 with a body that is cut", [part(201, "cut"), part(201, "cut")], isIssued(3)),
  fault(
    "201 with a body that stalls",
    [part(201, "stall"), part(201, "stall")],
    isIssued(3),
    timeLimit,
  ),
  fault("201 with a body that arrives byte by byte", [drip], isIssued(2), timeLimit),
  fault("201 with an empty body", [respond(201, jsonHeaders)], isIssued(2)),
  fault(
    "201 with a malformed chunk",
    [raw(`HTTP/1.1 201 X\r\ncontent-type: application/json\r\n${badChunk}`)],
    isIssued(2),
  ),
  fault(
    "201 with content-encoding gzip and a plain body",
    [respond(201, { ...jsonHeaders, ...gzip }, card)],
    isIssued(2),
  ),
  fault("garbage instead of HTTP", [raw("what?\r\n\r\n")], isIssued(2)),
  fault("503 with a body that is cut", [part(503, "cut")], isIssued(2)),
  fault("503 with a body that stalls", [part(503, "stall")], isIssued(2), timeLimit),
  fault("503 with more than 4 MiB, then the card", [respond(503, {}, tooLong)], isIssued(2)),
  fault("500 with more than 4 MiB always", always(respond(500, {}, tooLong)), {
    ...fails("server", "unknown", 3),
    retryable: true,
  }),
  fault("404 with more than 4 MiB", [respond(404, {}, tooLong)], fails("not-found", "rejected", 1)),
  fault("503 with content-encoding gzip and a plain body", [respond(503, gzip, "{}")], isIssued(2)),
  fault(
    "422 with problem details",
    [respond(422, problem, '{"detail":"Please fill in the name."}')],
    {
      ...fails("validation", "rejected", 1),
      userMessage: "Please fill in the name.",
    },
  ),
  fault(
    "a redirect to another address",
    [({ response, elsewhere }) => response.writeHead(307, { location: elsewhere }).end()],
    { code: "invalid-response", retryable: false, attempts: 1 },
  ),
  // workerd reports "Network connection lost." for every failed connection.
  fault("a port where no server listens", [], fails("network", "not-sent", 3), {
    base: "refused",
    expectedByRuntime: { workerd: { outcome: "unknown" } },
  }),
  fault("a self-signed certificate", [], { code: "network", attempts: 3 }, { base: "tls" }),
  fault("https:// with a port that speaks http", [], fails("network", "not-sent", 3), {
    base: "notTls",
    expectedByRuntime: Object.fromEntries(
      withoutTlsPhase.map((runtime) => [runtime, { outcome: "unknown" }]),
    ),
  }),
  fault(
    "an abort during the request",
    [noResponse],
    { aborted: true, atMostMs: 8000 },
    { abortAfterMs: 100 },
  ),
];
