/** Starts processes of the fleet, and a balancer that hands them deliveries by turns. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const program = fileURLToPath(new URL("./receiver-process.ts", import.meta.url));

/** What a receiver answered, and which secret had signed. */
export interface Outcome {
  status: number;
  secretId?: string;
}

export interface Process {
  port: number;
  outcomes: Outcome[];
  forward(ms: number): Promise<void>;
  /** As a machine that loses its power. */
  kill(): Promise<void>;
}

export async function startProcess(databaseUrl: string, schema: string): Promise<Process> {
  const child = fork(program, {
    execArgv: ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")],
    env: { ...process.env, DATABASE_URL: databaseUrl, DATABASE_SCHEMA: schema },
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.send({ end: true });
    await ended;
  });
  const outcomes: Outcome[] = [];
  const { port } = await told(child, (message: { port?: number }) => message.port !== undefined);
  child.on("message", (message: Outcome) => {
    if (message.status !== undefined) outcomes.push(message);
  });
  return {
    port: port ?? 0,
    outcomes,
    async forward(ms) {
      const moved = told(child, (message: { isForward?: true }) => message.isForward === true);
      child.send({ forwardMs: ms });
      await moved;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function told<Message>(child: ChildProcess, isIt: (message: Message) => boolean): Promise<Message> {
  return new Promise((resolve, reject) => {
    const listen = (message: unknown) => {
      if (!isIt(message as Message)) return;
      child.off("message", listen);
      resolve(message as Message);
    };
    child.on("message", listen);
    child.once("exit", (code) => reject(new Error(`The process ended with ${code}.`)));
  });
}

/** @returns its address. A process that is gone is a 502, as it is behind any balancer. */
export async function startBalancer(processes: readonly Pick<Process, "port">[]): Promise<string> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const { port } = processes[turn++ % processes.length] ?? { port: 0 };
    const { method, url: path, headers } = incoming;
    const passedOn = send({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passedOn.on("error", () => outgoing.writeHead(502).end());
    incoming.pipe(passedOn);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
