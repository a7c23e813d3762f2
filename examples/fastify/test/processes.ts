/** Processes of the fleet with adjustable clocks, and a load balancer that sends them deliveries in turn. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const program = fileURLToPath(new URL("receiver-process.ts", import.meta.url));
export const nodeFlags = [
  "--conditions=@loyalty-cards/source",
  "--import",
  import.meta.resolve("tsx"),
];

/** The status of a response, and the secret that had signed the delivery. */
export interface Outcome {
  status: number;
  secretId?: string;
}

export interface Process {
  port: number;
  outcomes: Outcome[];
  forward(ms: number): Promise<void>;
  /** With SIGKILL, as at a power failure. */
  kill(): Promise<void>;
}

export async function startProcess(url: string, schema: string): Promise<Process> {
  const child = fork(program, {
    execArgv: nodeFlags,
    env: { ...process.env, DATABASE_URL: url, DATABASE_SCHEMA: schema },
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null)
      child.send({ end: true });
    await ended;
  });
  const { port = 0 } = await nextMessage<{ port?: number }>(child, "port");
  const outcomes: Outcome[] = [];
  child.on("message", (message: Outcome) => {
    if (message.status !== undefined) outcomes.push(message);
  });
  return {
    port,
    outcomes,
    async forward(ms) {
      const moved = nextMessage(child, "isForward");
      child.send({ forwardMs: ms });
      await moved;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** @returns the next message that has this member. */
function nextMessage<Message>(
  child: ChildProcess,
  member: string,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const listen = (message: object) => {
      if (!(member in message)) return;
      child.off("message", listen);
      resolve(message as Message);
    };
    child.on("message", listen);
    child.once("exit", (code) =>
      reject(new Error(`The process ended with ${code}.`)),
    );
  });
}

/** @returns its address. It responds 502 for a process that has ended. */
export async function startBalancer(
  processes: readonly Process[],
): Promise<string> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const { port } = processes[turn++ % processes.length] as Process;
    const { method, url: path, headers } = incoming;
    const options = { host: "127.0.0.1", port, method, path, headers };
    const forwarded = send(options, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.writeHead(502).end());
    incoming.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
