/** The stage of a history: the machines, the processes on them, and the evidence that they leave. */
import { join } from "node:path";
import type { MockService } from "@loyalty-cards/mock-server";
import type { History } from "./history.ts";
import type { Images } from "./image.ts";
import { bookkeeperPort, Network, servicePort, shopPort } from "./network.ts";
import { type Machine, type Message, Process, resetProcessIds } from "./process.ts";
import { World } from "./world.ts";

/** What a visitor sent and got. */
export interface Visit {
  visitor: number;
  path: string;
  form: { name: string; email: string; phone: string };
  status: number | undefined;
  body: { userId?: string; message?: string; cardId?: string };
}

/** Everything that the checks look at. */
export interface Evidence {
  history: History;
  world: World;
  network: Network;
  service: MockService;
  issued: Map<string, { name: string; phone: string; key: string }>;
  visits: Visit[];
  /** The responses to deliveries that were not genuine. */
  forged: { kind: string; status: number; eventId: string }[];
  /** All lines that processes wrote. */
  lines: string[];
  secrets: string[];
  shopFile: string;
  booksFile: string;
  /** How long each request of a visitor took in the process of the shop, without the time in which it was frozen. */
  durationsMs: number[];
  /** Whether everything came to an end after the troubles. */
  isSettled: boolean;
  crashes: string[];
}

/** Starts the service, the processes of the shop and two bookkeepers. Processes that end are started again. */
export async function setUp(history: History, images: Images, folder: string) {
  resetProcessIds();
  const { seed } = history;
  const world = new World(seed);
  const network = new Network(world);
  const shopMachine = createMachine("shop");
  const booksMachine = createMachine("books");
  const shopFile = join(folder, "shop.db");
  const booksFile = join(folder, "books.db");
  const url = `http://localhost:${servicePort}`;
  const secrets = ["whsec_of_the_shop", "whsec_of_the_books"];
  const evidence: Evidence = {
    ...{ history, world, network, shopFile, booksFile, secrets: [...secrets] },
    ...{ visits: [], forged: [], lines: [], durationsMs: [], crashes: [], isSettled: false },
    ...({} as { service: MockService; issued: Evidence["issued"] }),
  };
  /** Genuine deliveries as they were sent, for attackers who repeat them. */
  const captured: Message[] = [];
  const state = {
    /** Until then the machines of the shop and of the bookkeepers sleep. */
    awakeAtMs: 0,
    /** Nothing is started any more. */
    isOver: false,
  };

  const start = (
    name: string,
    machine: Machine,
    program: keyof Images,
    env: Record<string, string>,
    restart?: () => void,
  ) => {
    const onEnd = (ended: Process) => {
      network.processes.delete(ended);
      evidence.lines.push(...ended.lines);
      if (machine === shopMachine) evidence.durationsMs.push(...ended.durationsMs);
      for (const line of ended.lines)
        if (line.startsWith("uncaught:")) evidence.crashes.push(`${name}: ${line}`);
      const delayMs =
        Math.max(0, state.awakeAtMs - world.nowMs) + world.random("restarts").integer(500, 10_000);
      if (restart !== undefined && !state.isOver) world.after(delayMs, restart);
    };
    const process = new Process(world, network, { name, machine, onEnd });
    network.processes.add(process);
    process.start(images[program], { NODE_ENV: "test", LOYALTY_URL: url, ...env });
    return process;
  };

  const endpoints = [
    {
      url: `http://localhost:${shopPort}/webhooks/loyalty`,
      secret: secrets[0],
      events: ["balance.changed", "card.added", "tier.changed"],
    },
    { url: `http://localhost:${bookkeeperPort}/`, secret: secrets[1], events: ["balance.changed"] },
  ];
  const serviceProcess = start("service", createMachine("service"), "service", {
    ENDPOINTS: JSON.stringify(endpoints),
    ALTERNATIVES: history.alternatives.join(),
  });
  await world.runUntil(1);
  const { service, issued } = serviceProcess.handles as unknown as Pick<Evidence, "service" | "issued">;
  Object.assign(evidence, { service, issued });
  network.apiKey = service.apiKeys.website;
  network.canRepeatRequests = !history.alternatives.some(
    (name) => name.endsWith("in flight") || name === "fickle 422",
  );
  network.onDelivery = (message) => captured.push(message);

  const shops: Process[] = [];
  const startShop = (index: number) => {
    shops[index] = start(
      `shop ${index + 1}`,
      shopMachine,
      history.shop,
      {
        LOYALTY_API_KEY: service.apiKeys.website,
        LOYALTY_TEMPLATE_ID: service.templateId,
        LOYALTY_SIGNING_SECRET: secrets[0] as string,
        SHOP_FILE: shopFile,
        PORT: String(3000 + index),
      },
      () => startShop(index),
    );
  };
  const books: Process[] = [];
  const startBooks = (index: number) => {
    books[index] = start(
      `books ${index + 1}`,
      booksMachine,
      "bookkeeper",
      { SECRET: secrets[1] as string, BOOKS_FILE: booksFile },
      () => startBooks(index),
    );
  };
  for (let index = 0; index < history.processes; index++) startShop(index);
  for (const index of [0, 1]) startBooks(index);
  if (history.actions.some(({ type }) => type === "till"))
    start("till", createMachine("till"), "till", {
      LOYALTY_API_KEY: service.apiKeys.website,
      LOYALTY_TEMPLATE_ID: service.templateId,
    });
  return {
    ...{ evidence, world, network, service, serviceProcess, shopMachine, shops, books },
    ...{ secrets, captured, state },
  };
}

export type Stage = Awaited<ReturnType<typeof setUp>>;

const createMachine = (name: string): Machine => ({
  ...{ name, clockErrorMs: 0, boot: 1, isDiskFull: false, isFileLocked: false, databases: new Set() },
});
