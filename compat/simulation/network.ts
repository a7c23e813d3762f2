/**
 * The network: loses, delays, duplicates, cuts and reorders what processes and visitors send each
 * other.
 */
import type { Machine } from "./files.ts";
import type { Random, World } from "./world.ts";

/** A request as it travels. */
export interface Message {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Whether the connection ends in the middle of the body. */
  isCut?: boolean;
}

export type Listener = (message: Message) => Promise<Reply>;

/** What the network knows of a process. */
export interface Host {
  readonly name: string;
  readonly machine: Machine;
  readonly pid: number;
  readonly isAlive: boolean;
  readonly listeners: ReadonlyMap<number, Listener>;
  receive(port: number, message: Message): Promise<Reply>;
  /** @returns whether it still runs. */
  survives(): boolean;
  /** @throws when it has ended. */
  effect(): void;
}

/** The port behind which a load balancer selects one of the processes of the shop. */
export const shopPort = 3999;
export const servicePort = 4010;
export const bookkeeperPort = 3500;
export const tillPort = 3400;
/** An address that is not the service. Nothing may arrive there. */
const elsewhere = "https://elsewhere.example";

/** What can happen to a message while the network is bad. */
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

export class Network<Process extends Host = Host> {
  readonly world: World;
  /** The probability of a trouble for each message. */
  badness = 0;
  /** Whether every response of the service is lost. */
  isResponseLost = false;
  /** By how much each request to the service is late. */
  lateMs = 0;
  /** When the last of the late requests arrives. */
  lastArrivalMs = 0;
  /**
   * Whether the service may get a request twice at once. One that rejects the first copy and
   * accepts the second voids G1.
   */
  canRepeatRequests = true;
  /** All processes that were started, also those that have ended. */
  readonly processes: Process[] = [];
  /** Requests that arrived at another address than that of the service. */
  readonly strays: string[] = [];
  /** The key of the service, to see where it goes. */
  apiKey = "";
  /** Genuine deliveries to the shop, for attackers who repeat them. */
  readonly deliveries: Message[] = [];
  #sent = 0;

  constructor(world: World) {
    this.world = world;
  }

  /** The `fetch` of a process. */
  async fetch(from: Process, input: string | Request, init: RequestInit = {}): Promise<Response> {
    const request = typeof input === "string" ? { ...init, url: input } : input;
    const { method = "GET", url, signal, redirect } = request;
    const message: Message = {
      method,
      url,
      headers: Object.fromEntries(new Headers(request.headers)),
      body: request instanceof Request ? await request.text() : String(init.body ?? ""),
    };
    from.effect();
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      const onReply = (reply: Reply) => {
        if (!from.survives()) return;
        const { location } = reply.headers;
        if (location !== undefined && redirect !== "manual") {
          const { authorization: _, ...headers } = message.headers; // fetch sends the others again
          this.strays.push(JSON.stringify({ ...message, url: location, headers }));
        }
        resolve(toResponse(reply));
      };
      this.send(from.name, message).then(onReply, (error) => from.survives() && reject(error));
    });
  }

  /** Sends a message, and resolves with the reply if one arrives; the promise can stay pending. */
  async send(from: string, message: Message): Promise<Reply> {
    const { world } = this;
    const { port: portText, pathname } = new URL(message.url);
    const port = Number(portText);
    const isToService = port === servicePort;
    const number = ++this.#sent;
    const title = `#${number} ${message.method} :${port}${pathname}`;
    const random = world.random(`${from} ${title}`);
    const drawn = random.chance(this.badness) ? random.pick(troubles) : undefined;
    // A page with status 200 in the place of a receiver would acknowledge a delivery that nothing
    // has received, and browsers do not send a form twice: visitors do.
    const isImpossible =
      (drawn === "web page" && !isToService) ||
      (drawn === "sent twice" &&
        (from.startsWith("visitor") || (isToService && !this.canRepeatRequests)));
    const trouble = isImpossible ? undefined : drawn;
    const delayMs = trouble === "slow" ? random.integer(1_000, 20_000) : random.integer(1, 40);
    const lateMs = isToService ? this.lateMs : 0;
    if (lateMs > 0)
      this.lastArrivalMs = Math.max(this.lastArrivalMs, world.nowMs + lateMs + delayMs);
    world.log(from, `${title}${trouble ? ` (${trouble})` : ""}`);
    if (from === "service" && port === shopPort) this.deliveries.push(message);
    if (!isToService && JSON.stringify(message).includes(this.apiKey))
      this.strays.push(message.url);

    const fail = async (ms: number, code = "ECONNRESET"): Promise<never> => {
      await world.sleep(ms);
      throw toFetchError(code);
    };
    const respond = async (reply: Reply) => {
      await world.sleep(delayMs);
      const isCut = trouble === "response cut";
      world.log(from, `#${number} gets ${reply.status}${isCut ? ", cut" : ""}`);
      return { ...reply, isCut };
    };
    const receiver = this.#findReceiver(port, random);
    if (trouble === "refused" || receiver === undefined) return fail(1, "ECONNREFUSED");
    if (trouble === "request lost") return fail(random.integer(5_000, 60_000));
    if (trouble === "gateway before") return respond(toPage(502));
    if (trouble === "web page") return respond(toPage(200));
    if (trouble === "redirected")
      return respond({ status: 307, headers: { location: `${elsewhere}${pathname}` }, body: "" });
    if (trouble === "rate limited")
      return respond({
        status: 429,
        headers: random.chance(0.5) ? { "retry-after": "2" } : {},
        body: "",
      });

    const arrive = async (ms: number, findReceiver: () => Process | undefined): Promise<Reply> => {
      await world.sleep(ms);
      const receiver = findReceiver();
      if (!receiver?.isAlive) return fail(1);
      return new Promise((resolve, reject) => {
        let isReset = false;
        const reset = () => {
          isReset = true;
          reject(toFetchError("ECONNRESET"));
        };
        const cancel = world.after(120_000, reset);
        receiver.receive(port === shopPort ? findPort(receiver) : port, message).then((reply) => {
          cancel();
          if (isReset) return;
          const isLost = trouble === "response lost" || (this.isResponseLost && isToService);
          if (!isLost) resolve(respond(trouble === "gateway after" ? toPage(504) : reply));
          else if (random.chance(0.5)) resolve(fail(random.integer(1, 40)));
        }, reset);
      });
    };
    const first = arrive(delayMs + lateMs, () => receiver);
    if (trouble !== "sent twice") return first;
    const second = arrive(delayMs + random.integer(0, 30_000), () =>
      this.#findReceiver(port, random),
    );
    return Promise.race([first, second]);
  }

  #findReceiver(port: number, random: Random): Process | undefined {
    const able = this.processes.filter(
      (process) =>
        process.isAlive &&
        (port === shopPort ? findPort(process) !== 0 : process.listeners.has(port)),
    );
    return able.length > 0 ? random.pick(able) : undefined;
  }
}

/** The port of a shop's process. Shops listen on 3000 to 3009. */
const findPort = ({ listeners }: Host) =>
  [...listeners.keys()].find((port) => port >= 3000 && port < 3010) ?? 0;

const toFetchError = (code: string) =>
  Object.assign(new TypeError("fetch failed"), { cause: { code } });

const toPage = (status: number): Reply => ({
  status,
  headers: { "content-type": "text/html" },
  body: "<html>A gateway</html>",
});

function toResponse({ status, headers, body, isCut }: Reply): Response {
  const hasBody = ![101, 204, 205, 304].includes(status);
  if (!isCut || !hasBody) return new Response(hasBody ? body : null, { status, headers });
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body.slice(0, body.length / 2)));
      controller.error(
        Object.assign(new TypeError("terminated"), { cause: { code: "UND_ERR_SOCKET" } }),
      );
    },
  });
  const { "content-length": _length, ...others } = headers;
  return new Response(stream, { status, headers: others });
}
