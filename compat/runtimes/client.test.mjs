/**
 * The fault matrix, with the built client on every runtime and with each transport. The faults are
 * produced over real sockets.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { freePort } from "@loyalty-cards/testing/free-port";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { faults } from "./faults.mjs";
import { otherTransports, runtimes } from "./runtimes.mjs";

const manifest = new URL("../../packages/issuing-client/package.json", import.meta.url);
const selfSigned = readFileSync(new URL("../../testing/localhost.pem", import.meta.url));
const userAgent = `loyalty-cards/${JSON.parse(readFileSync(manifest, "utf8")).version}`;
/** The rows without their scripts, which stay with the server. */
const rows = faults.map(({ base, options, abortAfterMs }) => ({ base, options, abortAfterMs }));

const clients = Object.entries({ ...runtimes, ...otherTransports });
const toRunId = (runtime) => runtime.replaceAll(" ", "-");
/** In the order of the clients. Two run at a time, because they mostly wait. */
const runs = [];
let server;
beforeAll(async () => {
  server = await startFaultServer();
  for (const [index, [runtime, run]] of clients.entries()) {
    const start = () => run({ rows, bases: server.bases, run: toRunId(runtime) });
    runs.push(Promise.allSettled([runs[index - 2]]).then(start));
  }
});
afterAll(() => server?.close());

describe.each(clients.map(([runtime], index) => [runtime, index]))(
  "the client on %s",
  (runtime, clientIndex) => {
    const runId = toRunId(runtime);
    let results;
    beforeAll(async () => {
      results = await runs[clientIndex];
    });

    it.each(faults.map((fault, index) => [fault.name, fault, index]))(
      "handles %s",
      (_name, fault, index) => {
        const result = results[index];
        const received = server.requests.get(`${runId}/${index}`);
        const { expected, expectedByRuntime = {}, runtimeMayRetry = [] } = fault;
        const {
          atLeastMs = 0,
          atMostMs = 12_000,
          ...members
        } = { ...expected, ...expectedByRuntime[runtime] };
        // A runtime whose own fetch sent a request again has done one of the expected attempts
        // itself.
        const unseen =
          runtimeMayRetry.includes(runtime) && received.attempts === members.attempts
            ? received.attempts - result.attempts
            : 0;
        if (unseen === 1) members.attempts -= unseen;

        expect(result).toMatchObject(members);
        expect(result.tookMs).toBeGreaterThanOrEqual(atLeastMs);
        expect(result.tookMs).toBeLessThanOrEqual(atMostMs);
        if (received === undefined) return;
        expect(received.keys.size, "idempotency keys").toBe(1);
        expect(received.bodies.size, "different bodies").toBeLessThanOrEqual(1);
        expect([...received.userAgents]).toEqual([userAgent]);
        if (result.ok)
          expect(received.attempts, "requests that arrived").toBe(result.attempts + unseen);
      },
    );
  },
);

/** One path per row and run; records the requests. */
async function startFaultServer() {
  /** By run and row: the keys, bodies and user agents of all attempts. */
  const requests = new Map();
  const server = createServer((request, response) => {
    const [, run, row] = request.url.split("/");
    const fault = faults[Number(row)];
    if (fault === undefined) return void response.writeHead(404).end();
    const id = `${run}/${row}`;
    const received = requests.get(id) ?? {
      keys: new Set(),
      bodies: new Set(),
      userAgents: new Set(),
      attempts: 0,
    };
    requests.set(id, received);
    received.keys.add(request.headers["idempotency-key"]);
    received.userAgents.add(request.headers["user-agent"]);
    const behaviour = fault.script[received.attempts++];
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      received.bodies.add(Buffer.concat(chunks).toString());
      const elsewhere = `${base}/${run}/elsewhere`;
      if (behaviour !== undefined) behaviour({ request, response, elsewhere });
      else
        response
          .writeHead(201, { "content-type": "application/json" })
          .end('{"id":"card_1","publicUrl":"https://cards.test/1"}');
    });
    request.on("error", () => {});
  });
  const tls = createTlsServer({ key: selfSigned, cert: selfSigned }, (_request, response) =>
    response.end(),
  );
  const [port, tlsPort, closedPort] = [await listen(server), await listen(tls), await freePort()];
  const base = `http://127.0.0.1:${port}`;
  return {
    bases: {
      http: base,
      tls: `https://127.0.0.1:${tlsPort}`,
      notTls: `https://127.0.0.1:${port}`,
      refused: `http://127.0.0.1:${closedPort}`,
    },
    requests,
    close() {
      for (const each of [server, tls]) {
        each.close();
        each.closeAllConnections();
      }
    },
  };
}

const listen = (server) =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
