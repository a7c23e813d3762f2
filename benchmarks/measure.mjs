/**
 * Measurement in one process. As a program, started by `run.mjs`, it measures one panel of a
 * subject and sends the figures of every round. Subjects import its helpers.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";

/**
 * Calls a function many times.
 * @param call makes one call; its promise is awaited.
 * @param calls how many calls.
 * @param atATime how many of them are in flight.
 * @returns microseconds per call: `time` by wall clock, `cpu` by processor time of this process.
 */
export async function perCall(call, calls, atATime = 32) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await call();
  };
  const stop = startTimers();
  await Promise.all(Array.from({ length: atATime }, caller));
  return stop(calls);
}

/** As `perCall`, for a synchronous function. */
export function perCallSync(call, calls) {
  const stop = startTimers();
  for (let i = 0; i < calls; i++) call();
  return stop(calls);
}

/**
 * @returns a function that stops them and returns the microseconds for each of a number of calls,
 * as `perCall`.
 */
export function startTimers() {
  const startedMs = performance.now();
  const started = process.cpuUsage();
  return (calls) => {
    const { user, system } = process.cpuUsage(started);
    return { time: ((performance.now() - startedMs) / calls) * 1000, cpu: (user + system) / calls };
  };
}

const children = [];
process.on("exit", () => {
  for (const child of children) child.kill();
});

/**
 * Starts a module in a process that ends with this one, and waits for its first message, such as
 * its port.
 */
export async function startModule(url, args = []) {
  const child = fork(fileURLToPath(url), args, { execArgv: [] });
  children.push(child);
  return { child, message: await receive(child) };
}

/**
 * The first message of a process.
 * @throws if the process ends before.
 */
export async function receive(child) {
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`${child.spawnargs.slice(1).join(" ")} ended with ${code ?? signal}.`);
  });
  const [message] = await Promise.race([once(child, "message"), ended]);
  return message;
}

/** Interpolates between the two nearest. */
export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]];
  return below + (above - below) * (position % 1);
}

/** In random order, so that no variant always runs after the same one. */
function shuffled(list) {
  const rest = [...list];
  return Array.from(
    { length: rest.length },
    () => rest.splice(Math.floor(Math.random() * rest.length), 1)[0],
  );
}

export async function openSocket(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true }).setEncoding("latin1");
  await once(socket, "connect");
  return socket;
}

/**
 * Sends a prepared request: an HTTP client would use more time than the servers.
 * @throws for another status; a response has a content-length or no body.
 */
export const send = (socket, request, status) =>
  new Promise((resolve, reject) => {
    let response = "";
    const read = (chunk) => {
      response += chunk;
      const end = response.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(response)?.[1] ?? 0);
      if (end < 0 || response.length < end + 4 + length) return;
      socket.off("data", read);
      if (response.startsWith(`HTTP/1.1 ${status} `)) resolve();
      else reject(new Error(response));
    };
    socket.on("data", read).write(request);
  });

/** The installed version of a package. */
export function readVersion(name) {
  const folders = ["node_modules", "../node_modules", "../compat/node_modules"];
  const files = folders.map((folder) => new URL(`${folder}/${name}/package.json`, import.meta.url));
  const installed = files.find((file) => existsSync(file));
  return JSON.parse(readFileSync(installed, "utf8")).version;
}

/** @returns for each round the figures of each variant. */
async function measureRounds(subject, panel) {
  const { variants, close } = await subject.open(panel);
  const { rounds = 5, warmUps = 1 } = { ...subject, ...panel };
  const measured = [];
  for (let round = -warmUps; round < rounds; round++) {
    const figures = {};
    for (const [name, run] of shuffled(Object.entries(variants))) figures[name] = await run();
    if (round >= 0) measured.push(figures);
  }
  await close?.();
  return measured;
}

/**
 * `open` of a subject whose variants are each measured alone, in a fresh process, beside a service
 * that issues cards.
 */
async function openAlone({ alone }, file, panel) {
  const { child, message: port } = await startModule(
    new URL("issuing-service.mjs", import.meta.url),
  );
  const measure = async (name) =>
    (await startModule(import.meta.url, [file, panel, name, port])).message;
  return {
    variants: Object.fromEntries(alone.map((name) => [name, () => measure(name)])),
    close: () => child.kill(),
  };
}

async function main() {
  const [file, text, name, port] = process.argv.slice(2);
  const { default: subject } = await import(file);
  const panel = JSON.parse(text);
  const figures =
    name === undefined
      ? await measureRounds({ open: () => openAlone(subject, file, text), ...subject }, panel)
      : await subject.measureAlone(name, `http://127.0.0.1:${port}`, panel);
  process.send(figures, () => process.exit()); // open connections would keep the process alive
}
// Not awaited: the subject imports this module.
if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) main();
