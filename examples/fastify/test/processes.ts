/** Starts processes of the fleet, and a load balancer that sends them deliveries in turn. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const program = here("receiver-process.ts");
/** In the repository of the packages the tests use their sources. */
const conditions = existsSync(here("../../../packages/webhook-inbox/src"))
  ? ["--conditions=@loyalty-cards/source"]
  : [];
export const nodeFlags = [...conditions, "--import", import.meta.resolve("tsx")];

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

export async function startProcess(
  databaseUrl: string,
  schema: string,
): Promise<Process> {
  const child = fork(program, {
    execArgv: nodeFlags,
    env: { ...process.env, DATABASE_URL: databaseUrl, DATABASE_SCHEMA: schema },
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null)
      child.send({ end: true });
    await ended;
  });
  const outcomes: Outcome[] = [];
  const { port } = await nextMessage(
    child,
    (message: { port?: number }) => message.port !== undefined,
  );
  child.on("message", (message: Outcome) => {
    if (message.status !== undefined) outcomes.push(message);
  });
  return {
    port: port ?? 0,
    outcomes,
    async forward(ms) {
      const moved = nextMessage(
        child,
        (message: { isForward?: true }) => message.isForward === true,
      );
      child.send({ forwardMs: ms });
      await moved;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function nextMessage<Message>(
  child: ChildProcess,
  matches: (message: Message) => boolean,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const listen = (message: unknown) => {
      if (!matches(message as Message)) return;
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
  processes: readonly Pick<Process, "port">[],
): Promise<string> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const { port } = processes[turn++ % processes.length] ?? { port: 0 };
    const { method, url: path, headers } = incoming;
    const forwarded = send(
      { host: "127.0.0.1", port, method, path, headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
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
