/**
 * The stage of a history: the machines, the processes on them, and what the checks look at
 * afterwards.
 */
import { join } from "node:path";
import { Machine } from "./files.ts";
import type { Images, ProgramName } from "./image.ts";
import { bookkeeperPort, Network, servicePort, shopPort } from "./network.ts";
import { Process } from "./process.ts";
import type { ShownByService } from "./programs/service.ts";
import { World } from "./world.ts";

/** What a history consists of. It is JSON, so a failing one is kept as a file. */
export interface History {
  seed: number;
  shop: "express" | "fastify";
  /** Processes of the shop on one machine, with one file. */
  processes: number;
  /** What the service does differently from the mock service. */
  alternatives: string[];
  /** The probability that a message is lost, late, cut, repeated or refused, before the end. */
  badness: number;
  actions: Action[];
  /** When the troubles end. What happens then must lead to the promised state. */
  endMs: number;
}

/** Something that happens, with the details that its type draws in `actions.ts`. */
export interface Action {
  atMs: number;
  type: string;
  [detail: string]: unknown;
}

/** What a visitor sent and got. */
export interface Visit {
  visitor: number;
  path: string;
  form: { name: string; email: string; phone: string };
  status?: number;
  userId?: string;
}

export type Stage = Awaited<ReturnType<typeof setUp>>;

/**
 * Starts the service, the processes of the shop, two bookkeepers and a till. Processes that end are
 * started again.
 */
export async function setUp(history: History, images: Images, folder: string) {
  const world = new World(history.seed);
  const network = new Network<Process>(world);
  const shopMachine = new Machine("shop", join(folder, "shop.db"));
  const booksMachine = new Machine("books", join(folder, "books.db"));
  const [booksSecret, shopSecrets] = ["whsec_of_the_books", ["whsec_of_the_shop"]];
  const stage = {
    history,
    world,
    network,
    shopMachine,
    booksMachine,
    booksSecret,
    /** The last is that of the shop, the others were replaced. */
    shopSecrets,
    shops: [] as Process[],
    books: [] as Process[],
    visits: [] as Visit[],
    /** Customers of the till of whom the client said that they have no card. */
    rejected: [] as string[],
    /** The responses to deliveries that were not genuine. */
    forged: [] as { kind: string; status: number }[],
    /** Until then the machines of the shop and of the bookkeepers sleep. */
    awakeAtMs: 0,
    /** Nothing is started any more. */
    isOver: false,
    /** What still waited when the longest delay had passed, by a clock that was set back. */
    delayed: [] as string[],
    /** Whether everything came to an end after the troubles. */
    isSettled: false,
  };

  type Env = Record<string, string>;
  const start = (
    program: ProgramName,
    machine: Machine,
    name: string,
    getEnv: () => Env,
    group: Process[],
  ) => {
    const index = group.length;
    const run = () => {
      const sleepMs = stage.awakeAtMs - world.nowMs;
      if (sleepMs > 0) return void world.after(sleepMs, run);
      const process = new Process(network, machine, name, restart);
      group[index] = process;
      process.start(images[program], {
        LOYALTY_URL: `http://localhost:${servicePort}`,
        ...getEnv(),
      });
    };
    const restart = () => {
      if (!stage.isOver) world.after(world.random("restarts").integer(500, 10_000), run);
    };
    run();
  };

  const endpoints = [
    {
      url: `http://localhost:${shopPort}/webhooks/loyalty`,
      secret: shopSecrets[0],
      events: ["balance.changed", "card.added", "tier.changed"],
    },
    {
      url: `http://localhost:${bookkeeperPort}/`,
      secret: booksSecret,
      events: ["balance.changed"],
    },
  ];
  const others: Process[] = [];
  const serviceEnv = {
    ENDPOINTS: JSON.stringify(endpoints),
    ALTERNATIVES: history.alternatives.join(),
  };
  start("service", new Machine("service"), "service", () => serviceEnv, others);
  await world.runUntil(1);
  const shown = others[0]?.shown as ShownByService;
  const { service, issued } = shown;
  network.apiKey = service.apiKeys.website;
  network.canRepeatRequests = !history.alternatives.some(
    (name) => name.endsWith("in flight") || name === "fickle 422",
  );
  const clientEnv = {
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: service.templateId,
  };
  for (let index = 0; index < history.processes; index++) {
    const getEnv = () => ({
      ...clientEnv,
      LOYALTY_SIGNING_SECRET: shopSecrets.at(-1) as string,
      SHOP_FILE: shopMachine.file,
      PORT: String(3000 + index),
    });
    start(history.shop, shopMachine, `shop ${index + 1}`, getEnv, stage.shops);
  }
  const booksEnv = { SECRET: booksSecret, BOOKS_FILE: booksMachine.file };
  for (const name of ["books 1", "books 2"])
    start("bookkeeper", booksMachine, name, () => booksEnv, stage.books);
  if (history.actions.some(({ type }) => type === "till"))
    start("till", new Machine("till"), "till", () => clientEnv, others);
  return Object.assign(stage, { service, issued, shown });
}
