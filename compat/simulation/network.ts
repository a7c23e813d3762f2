/** The network: loses, delays, duplicates, cuts and reorders what processes and visitors send each other. */
import type { Machine, Message, Process, Reply } from "./process.ts";
import type { World } from "./world.ts";

/** The port behind which a load balancer selects one of the processes of the shop. */
export const shopPort = 3999;
export const servicePort = 4010;
export const bookkeeperPort = 3500;
export const tillPort = 3400;
/** An address that is not the service. Nothing may arrive there. */
export const elsewhere = "https://elsewhere.example";

/** What can happen to a message, and how often, while the network is bad. */
const troubles = [
  "refused", // nothing is sent
  "request lost",
  "response lost",
  "response cut",
  "sent twice",
  "slow",
  "gateway before", // the gateway responds 502, and nothing has arrived
  "gateway after", // the request was processed, and the gateway responds 504
  "rate limited",
  "redirected",
  "web page", // a gateway of a hotel or an office responds with a page
] as const;

type Trouble = (typeof troubles)[number];

export class Network {
  /** The probability of a trouble for each message. */
  badness = 0;
  /** Whether every response of the service is lost. */
  isResponseLost = false;
  /** By how much each request to the service is late. */
  lateMs = 0;
  /** When the last of the late requests arrives. */
  lastArrivalMs = 0;
  /** Whether the service may get a request twice at once. One that rejects the first copy and accepts the second voids G1. */
  canRepeatRequests = true;
  readonly processes = new Set<Process>();
  /** Requests that arrived at another address than that of the service. */
  readonly strays: string[] = [];
  /** The key and the address of the service, to see where the key goes. */
  apiKey = "";
  /** Called with each genuine delivery to the shop. */
  onDelivery: (message: Message) => void = () => {};
  readonly #world: World;
  #sent = 0;

  constructor(world: World) {
    this.#world = world;
  }

  isRunning(machine: Machine, pid: number): boolean {
    return [...this.processes].some(
      (process) => process.machine === machine && process.pid === pid && process.isAlive,
    );
  }

  /** The `fetch` of a process. */
  async fetch(from: Process, input: string | Request, init: RequestInit = {}): Promise<Response> {
    const request = typeof input === "string" ? undefined : input;
    const message: Message = {
      method: request?.method ?? init.method ?? "GET",
      url: request?.url ?? (input as string),
      headers: Object.fromEntries(new Headers(request?.headers ?? init.headers)),
      body: request ? await request.text() : String(init.body ?? ""),
    };
    const signal = request?.signal ?? init.signal ?? undefined;
    const isManual = (request?.redirect ?? init.redirect) === "manual";
    from.effect();
    return new Promise((resolve, reject) => {
      const settle = (run: () => void) => {
        try {
          from.effect();
        } catch {
          return; // the process has ended meanwhile
        }
        run();
      };
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.send(from.name, message).then(
        ({ reply, isCut }) =>
          settle(() => {
            const location = reply.headers["location"];
            if (location !== undefined && !isManual) this.#follow(message, location);
            resolve(toResponse(reply, isCut));
          }),
        (error) => settle(() => reject(error)),
      );
    });
  }

  /** Sends a message, and resolves with the reply if one arrives; the promise can stay pending. */
  send(from: string, message: Message): Promise<{ reply: Reply; isCut: boolean }> {
    const world = this.#world;
    const { port, pathname } = new URL(message.url);
    const name = `${from} #${++this.#sent} ${message.method} :${port}${pathname}`;
    const random = world.random(name);
    const drawn: Trouble | undefined = random.chance(this.badness) ? random.pick(troubles) : undefined;
    // A page with status 200 in the place of a receiver would acknowledge a delivery that nothing has received, and
    // browsers do not send a form twice: visitors do.
    const isToService = Number(port) === servicePort;
    const isImpossible =
      (drawn === "web page" && !isToService) ||
      (drawn === "sent twice" && (from.startsWith("visitor") || (isToService && !this.canRepeatRequests)));
    const trouble = isImpossible ? undefined : drawn;
    const delayMs = trouble === "slow" ? random.integer(1_000, 20_000) : random.integer(1, 40);
    const lateMs = isToService ? this.lateMs : 0;
    if (lateMs > 0) this.lastArrivalMs = Math.max(this.lastArrivalMs, world.nowMs + lateMs + delayMs);
    world.log(from, `#${this.#sent} ${message.method} :${port}${pathname}${trouble ? ` (${trouble})` : ""}`);
    if (from === "service" && Number(port) === shopPort) this.onDelivery(message);
    if (Number(port) !== servicePort && JSON.stringify(message).includes(this.apiKey))
      this.strays.push(message.url);
    const number = this.#sent;
    return new Promise((resolve, reject) => {
      const fail = (code: string) =>
        reject(Object.assign(new TypeError("fetch failed"), { cause: { code } }));
      const respond = (reply: Reply, isCut = false) => {
        world.log(from, `#${number} gets ${reply.status}${isCut ? ", cut" : ""}`);
        resolve({ reply, isCut });
      };
      const gateway = (status: number, headers: Record<string, string> = {}, body = "") =>
        world.after(delayMs, () => respond({ status, headers, body }));
      const receiver = this.#findReceiver(Number(port), random);
      if (trouble === "refused" || receiver === undefined)
        return void world.after(1, () => fail("ECONNREFUSED"));
      if (trouble === "gateway before")
        return void gateway(502, { "content-type": "text/html" }, "<html></html>");
      if (trouble === "rate limited")
        return void gateway(429, random.chance(0.5) ? { "retry-after": "2" } : {});
      if (trouble === "redirected") return void gateway(307, { location: `${elsewhere}${pathname}` });
      if (trouble === "web page")
        return void gateway(200, { "content-type": "text/html" }, "<html>Log in</html>");
      if (trouble === "request lost")
        return void world.after(random.integer(5_000, 60_000), () => fail("ECONNRESET"));
      const arrive = (receiverNow: Process | undefined) => {
        if (!receiverNow?.isAlive) return void world.after(1, () => fail("ECONNRESET"));
        const reset = world.after(120_000, () => fail("ECONNRESET"));
        receiverNow.receive(Number(port) === shopPort ? findPort(receiverNow) : Number(port), message).then(
          (reply) => {
            reset();
            if (trouble === "response lost" || (this.isResponseLost && Number(port) === servicePort)) {
              if (random.chance(0.5)) world.after(random.integer(1, 40), () => fail("ECONNRESET"));
              return;
            }
            if (trouble === "gateway after")
              return void gateway(504, { "content-type": "text/html" }, "<html></html>");
            world.after(delayMs, () => respond(reply, trouble === "response cut"));
          },
          () => fail("ECONNRESET"),
        );
      };
      world.after(delayMs + lateMs, () => arrive(receiver));
      if (trouble === "sent twice")
        world.after(delayMs + random.integer(0, 30_000), () =>
          arrive(this.#findReceiver(Number(port), random)),
        );
    });
  }

  #findReceiver(port: number, random: { pick<Item>(items: readonly Item[]): Item }): Process | undefined {
    const able = [...this.processes].filter(
      (process) =>
        process.isAlive && (port === shopPort ? findPort(process) !== 0 : process.listeners.has(port)),
    );
    return able.length > 0 ? random.pick(able) : undefined;
  }

  /** What `fetch` does with a redirect unless it is told not to: it sends the request again, without `authorization`. */
  #follow({ method, headers, body }: Message, location: string): void {
    const { authorization, ...others } = headers;
    this.strays.push(`${method} ${location} ${JSON.stringify(others)} ${body}`);
  }
}

/** The port of a shop's process. Shops listen on 3000 to 3009. */
const findPort = ({ listeners }: Process) =>
  [...listeners.keys()].find((port) => port >= 3000 && port < 3010) ?? 0;

function toResponse({ status, headers, body }: Reply, isCut: boolean): Response {
  const hasBody = ![101, 204, 205, 304].includes(status);
  if (!isCut || !hasBody) return new Response(hasBody ? body : null, { status, headers });
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body.slice(0, body.length / 2)));
      controller.error(Object.assign(new TypeError("terminated"), { cause: { code: "UND_ERR_SOCKET" } }));
    },
  });
  const { "content-length": _length, ...others } = headers;
  return new Response(stream, { status, headers: others });
}
