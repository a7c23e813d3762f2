/** The main use case over real HTTP, with the shop of `examples/express`: sign-up → card → purchase → signed webhook → verified receiver. */
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { CardLinks } from "@loyalty-cards/issuing-client";
import {
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import express from "express";
import { openShop } from "../express/shop.ts";
import { listen } from "./listen.ts";
import {
  privacyVersion,
  renderHome,
  renderPrivacyNotice,
  requireConsent,
} from "./page.ts";

const template = {
  id: "tpl_coffee",
  name: "Coffee club",
  fields: [
    { key: "name", type: "name", required: true, label: "Name" },
    { key: "points", type: "number" },
  ],
} as const;

const anna = {
  name: "Anna Kowalska",
  email: "anna@example.com",
  phone: "+48 600 100 200",
  privacy: privacyVersion,
};
const ben = {
  name: "Ben Nowak",
  email: "ben@example.com",
  phone: "+48 600 100 201",
  privacy: privacyVersion,
};

interface Member {
  id: string;
  name: string;
  card: string | null;
  balance: number;
}

export interface DemoOptions extends MockServerOptions {
  /** After successful steps the shop and the service run until this resolves. Default: they stop at once. */
  keepUntil?: Promise<void>;
}

/** Prints each step with its time and result; the first failure ends the demo. @returns whether all steps succeeded. */
export async function runDemo(
  print: Print,
  options: DemoOptions = {},
): Promise<boolean> {
  const { keepUntil, ...mockOptions } = options;
  const step = createStep(print);
  const closing: (() => Promise<void>)[] = [];
  let mockUrl = "";
  let shopUrl = "";
  let cardLinks: CardLinks | undefined;
  try {
    await runSteps();
    if (keepUntil !== undefined) await keepRunning(keepUntil);
    else
      print(
        "\nnpm run demo -- --keep leaves the shop, the card and the console open.",
      );
    return true;
  } catch {
    return false; // the step has printed why
  } finally {
    for (const close of closing.reverse()) await close();
  }

  async function keepRunning(until: Promise<void>): Promise<void> {
    print("\nThe shop and the mock service run until you press Ctrl-C:");
    print(`    shop           ${shopUrl}/  (sign up, and see the balances)`);
    print(`    card           ${cardLinks?.page}`);
    print(`    Apple Wallet   ${cardLinks?.addToFirstWallet}`);
    print(`    Google Wallet  ${cardLinks?.addToSecondWallet}`);
    print(`    console        ${mockUrl}/console  (record a purchase)`);
    await until;
    print("Stopped.");
  }

  async function runSteps(): Promise<void> {
    const mock = await startMockServer({ templates: [template], ...mockOptions });
    closing.push(mock.close);
    mockUrl = mock.url;
    const { service } = mock;
    const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-demo-"));
    closing.push(async () => rmSync(folder, { recursive: true }));
    let delivered: IncomingHttpHeaders = {};
    const logged: string[] = [];
    let findMembers: () => Promise<Member[]> = async () => [];
    const findMember = async ({ name }: { name: string }) =>
      (await findMembers()).find((member) => member.name === name);
    const getCard = async (form: { name: string }) =>
      service.cards.get((await findMember(form))?.card ?? "");

    const post = (path: string, body: string, headers: Record<string, string>) =>
      fetch(`${shopUrl}${path}`, { method: "POST", body, headers });
    const sendForm = async (form: Record<string, string>) => {
      const response = await post("/sign-up", JSON.stringify(form), {
        "content-type": "application/json",
      });
      const body = (await response.json()) as { links: CardLinks; message: string };
      return { status: response.status, body };
    };

    await step("The shop opens", async () => {
      const app = express();
      const server = await listen(app);
      shopUrl = server.url;
      const { secret } = service.webhooks.createEndpoint({
        url: `${shopUrl}/webhooks/loyalty`,
        events: ["balance.changed"],
      });
      const shop = await openShop({
        url: mock.url,
        key: service.apiKeys.website,
        template: template.id,
        secret,
        file: join(folder, "shop.db"),
        log: (line) => void logged.push(line),
      });
      closing.push(shop.close, server.close);
      findMembers = () =>
        shop.outbox.write(
          (database) =>
            database
              .prepare(
                "SELECT id, name, card, COALESCE(balance, 0) AS balance FROM users LEFT JOIN balances USING (card) ORDER BY users.rowid DESC",
              )
              .all() as Member[],
        );
      app.use("/webhooks", (request, _response, next) => {
        delivered = request.headers; // for the changed delivery
        next();
      });
      app.get("/", async (_request, response) => {
        const members = [];
        for (const { id, name, balance, card } of await findMembers()) {
          const entry = await shop.outbox.get(id);
          if (entry?.state === "rejected") continue; // until the form is corrected
          const cardPage =
            card === null ? undefined : service.cards.get(card).publicUrl;
          members.push({ name, balance, cardPage });
        }
        response.type("html").send(renderHome(members));
      });
      app.get("/privacy", (_request, response) => {
        response.type("html").send(renderPrivacyNotice());
      });
      app.use(["/sign-up", "/users"], requireConsent);
      app.use(shop.app);
      return "an Express app, beside a mock of the service";
    });

    await step("Anna signs up", async () => {
      const { status, body } = await sendForm(anna);
      ensure("201", status === 201);
      cardLinks = body.links;
      const card = await getCard(anna);
      ensure("an active card", card.status === "active");
      return `card ${card.id}, ${card.status}, for Apple and Google Wallet`;
    });

    await step("Ben signs up, and the response to the shop is lost", async () => {
      service.faults.add({ phase: "after-commit", kind: "reset", times: 1 });
      const { status } = await sendForm(ben);
      ensure("201", status === 201);
      const response = await fetch(`${mock.url}/_mock/cards`);
      const { items } = (await response.json()) as {
        items: { fieldValues: { name: string } }[];
      };
      ensure(
        "one card",
        items.filter(({ fieldValues }) => fieldValues.name === ben.name).length ===
          1,
      );
      return "one card, although the request was sent twice";
    });

    await step("A visitor omits the name", async () => {
      const { status, body } = await sendForm({
        ...anna,
        name: "",
        email: "nobody@example.com",
      });
      ensure("422", status === 422);
      ensure("a message for the user", body.message === 'Please fill in "Name".');
      return `422; the form shows: ${body.message}`;
    });

    await step("The shop records a purchase", async () => {
      const { type, change } = service.cards.purchase((await getCard(anna)).id, {
        points: 120,
      });
      return `${type} of ${change} points`;
    });

    await step("The signed webhook arrives", async () => {
      await service.idle();
      const [delivery] = service.webhooks.deliveries();
      ensure("a response of 204", delivery?.attempts[0]?.status === 204);
      await ensureSoon(
        "a balance of 120 in the shop",
        async () => (await findMember(anna))?.balance === 120,
      );
      return "verified, 204; Anna's balance in the shop is 120";
    });

    await step("An attacker changes that delivery", async () => {
      const [delivery] = service.webhooks.deliveries();
      const headers = Object.fromEntries(
        Object.entries(delivered).filter(([name]) => name.startsWith("service-")),
      ) as Record<string, string>;
      const forged = (delivery?.body ?? "").replace(
        '"balance":120',
        '"balance":9120',
      );
      ensure(
        "a changed body",
        forged !== delivery?.body && Object.keys(headers).length === 3,
      );
      const { status } = await post("/webhooks/loyalty", forged, headers);
      ensure("401", status === 401);
      ensure("an unchanged balance", (await findMember(anna))?.balance === 120);
      ensure("the reason in the log", /rejected: mismatch/.test(logged.join()));
      return "401, mismatch; Anna's balance in the shop is still 120";
    });
  }
}

type Print = (line: string) => void;

function createStep(print: Print) {
  return async (name: string, act: () => Promise<string>): Promise<void> => {
    const startedMs = performance.now();
    const printStep = (mark: string, result: string) => {
      const time = `${Math.round(performance.now() - startedMs)} ms`;
      print(`${mark} ${name} ${time.padStart(77 - name.length)}`); // 80 columns
      print(`    ${result}`);
    };
    try {
      printStep("✓", await act());
    } catch (error) {
      printStep("✗", error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
}

/** Waits for what the inbox of the shop does. @throws when it does not happen within three seconds. */
async function ensureSoon(
  expected: string,
  isTrue: () => Promise<boolean>,
): Promise<void> {
  const endMs = performance.now() + 3_000;
  while (!(await isTrue())) {
    ensure(expected, performance.now() < endMs);
    await setTimeout(20);
  }
}

/** @throws when an expectation does not hold. */
function ensure(expected: string, isTrue: boolean): void {
  if (!isTrue) throw new Error(`expected ${expected}`);
}
