/** Produces the faults over real sockets, one path per row and run, and records the requests. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { faults } from "./faults.mjs";

export async function startFaultServer() {
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
  const tls = createTlsServer(selfSigned(), (_request, response) => response.end());
  const [port, tlsPort, closedPort] = [await listen(server), await listen(tls), await unusedPort()];
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

async function unusedPort() {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function selfSigned() {
  const folder = mkdtempSync(join(tmpdir(), "compat-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-days", "1"];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, ...subject],
    { stdio: "ignore" },
  );
  const pair = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return pair;
}
