/** The checks of the receiver: the doctor, and real purchases whose deliveries are duplicated, reordered and interrupted by a kill. */
import { checkReceiver } from "@loyalty-cards/mock-server/doctor";
import { type Member, readUntil, type Shop } from "./shop.ts";
import type { Check } from "./sign-up-checks.ts";

const withoutCard = "a new member has no card with the balance 0 after 30 s";
/** How long to watch for a further effect. */
const settleMs = 1_500;
const effectTimeoutMs = 15_000;

/** A member with a card on which nothing has been recorded yet. */
interface Holder {
  email: string;
  card: string;
  /** The purchases that have been recorded. */
  purchases: number;
}

async function signUpHolder(shop: Shop): Promise<Holder | undefined> {
  const visitor = shop.createVisitor();
  await shop.submit(visitor);
  const isNew = ({ card, balance = 0 }: Member) => card !== undefined && balance === 0;
  const read = async () => (await shop.readMembers()).get(visitor.email) ?? {};
  const { card } = await readUntil(read, isNew, 30_000);
  return card === undefined ? undefined : { email: visitor.email, card, purchases: 0 };
}

function purchase({ service }: Shop, holder: Holder, points: number): void {
  service.cards.purchase(holder.card, { points });
  holder.purchases += 1;
}

/** Waits until the shop shows the balance of the service, and watches whether it changes afterwards. */
async function findWrongBalance(shop: Shop, holders: readonly Holder[], limitMs = effectTimeoutMs) {
  async function find(): Promise<string | undefined> {
    const members = await shop.readMembers();
    for (const { email, card, purchases } of holders) {
      const { balance = 0, effects = purchases }: Member = members.get(email) ?? {};
      const expected = shop.service.cards.get(card).loyaltyBalance;
      if (balance !== expected) return `${email} has the balance ${balance} instead of ${expected}`;
      if (effects !== purchases) return `${email} has ${effects} effects of ${purchases} purchases`;
    }
    return undefined;
  }
  const wrong = await readUntil(find, (found) => found === undefined, limitMs);
  if (wrong !== undefined) return `${wrong} after ${limitMs / 1000} s`;
  return readUntil(find, (found) => found !== undefined, settleMs);
}

/** Moves the service's clock until everything is delivered; a receiver that is starting gets the next attempt. */
async function deliverAll({ service }: Shop): Promise<string | undefined> {
  for (let retries = 0; retries < 4; retries += 1) {
    await service.idle();
    if (service.webhooks.deliveries({ state: "pending" }).length === 0) return undefined;
    await service.clock.advanceToNextDelivery();
  }
  const [pending] = service.webhooks.deliveries({ state: "pending" });
  return (
    pending && `a ${pending.type} event got ${pending.attempts.at(-1)?.status ?? "no response"} four times`
  );
}

/** Two events of one millisecond have no order. */
async function nextMillisecond({ service }: Shop): Promise<void> {
  const now = service.clock.now();
  await readUntil(
    async () => service.clock.now(),
    (ms) => ms > now + 1,
    1_000,
  );
}

export const webhookChecks: readonly Check[] = [
  {
    name: "doctor",
    title:
      "The receiver passes the doctor: it rejects forged and stale deliveries, and stores each effect once.",
    advice: "See docs/guides/testing.md#check-a-running-receiver.",
    async run(shop) {
      const holder = await signUpHolder(shop);
      if (holder === undefined) return withoutCard;
      const probe = "http://127.0.0.1/probe"; // read from the members instead
      const { findings } = await checkReceiver({
        url: shop.receiver,
        secret: shop.secret,
        cardId: holder.card,
        probe,
        timeoutMs: 12_000,
        deadlineMs: 100_000,
        async fetch(input, init) {
          if (!String(input).startsWith(probe)) return fetch(input, init);
          return Response.json((await shop.readMembers()).get(holder.email) ?? {});
        },
      });
      const failed = findings.filter(
        ({ verdict, observed }) => verdict === "fail" || observed === "not checked",
      );
      return failed.length === 0
        ? undefined
        : failed
            .map(({ check, sent, observed, advice }) => `${check}: sent ${sent}, it ${observed}. ${advice}`)
            .join("\n");
    },
  },
  {
    name: "duplicates",
    title: "A delivery that arrives twice takes effect once.",
    advice:
      "Store `balance` of the event instead of adding `change`, and recognize an event by its id (an inbox, or option dedupe).",
    async run(shop) {
      const holder = await signUpHolder(shop);
      if (holder === undefined) return withoutCard;
      const { id } = shop.service.faults.add({ kind: "duplicate", match: { event: "balance.changed" } });
      for (const points of [5, 7]) {
        purchase(shop, holder, points);
        await nextMillisecond(shop);
      }
      shop.service.faults.remove(id);
      return (await deliverAll(shop)) ?? findWrongBalance(shop, [holder]);
    },
  },
  {
    name: "reordered",
    title: "Deliveries in another order leave the newest balance, also after a restart.",
    advice:
      "Store a balance only when its createdAt, with milliseconds, is newer than that of the stored one (isNewest), and not in memory.",
    async run(shop) {
      const holder = await signUpHolder(shop);
      if (holder === undefined) return withoutCard;
      shop.service.faults.add({ kind: "reorder", times: 1, match: { event: "balance.changed" } });
      for (const points of [5, 7]) {
        purchase(shop, holder, points);
        await nextMillisecond(shop);
      }
      const wrong = (await deliverAll(shop)) ?? (await findWrongBalance(shop, [holder]));
      if (wrong !== undefined) return wrong;
      // The older of two events is delivered again when the shop has been restarted.
      shop.service.faults.add({ kind: "drop", times: 1, match: { event: "balance.changed" } });
      for (const points of [5, 7]) {
        purchase(shop, holder, points);
        await nextMillisecond(shop);
      }
      await readUntil(
        async () => (await shop.readMembers()).get(holder.email)?.balance,
        (balance) => balance === shop.service.cards.get(holder.card).loyaltyBalance,
        effectTimeoutMs,
      );
      await shop.restart();
      return (await deliverAll(shop)) ?? findWrongBalance(shop, [holder]);
    },
  },
  {
    name: "killed-deliveries",
    title: "A shop that is killed between a delivery and its effect loses nothing.",
    advice:
      "Store the event durably before the response (an inbox), and record it as processed in the transaction of its effect.",
    async run(shop) {
      const holders: Holder[] = [];
      for (const isAfterResponse of [true, false]) {
        // Others than before, because a later balance would hide a lost one.
        const buyers = await Promise.all(Array.from({ length: 4 }, () => signUpHolder(shop)));
        const present = buyers.filter((holder) => holder !== undefined);
        if (present.length < buyers.length) return withoutCard;
        holders.push(...present);
        const reached = shop.waitForTraffic(
          (event) => event.kind === "delivery" && event.status !== undefined,
          1,
          5_000,
        );
        for (const holder of present) purchase(shop, holder, 10);
        if (isAfterResponse) await reached;
        await shop.restart();
        const pending = await deliverAll(shop);
        if (pending !== undefined) return pending;
      }
      const wrong = await findWrongBalance(shop, holders, shop.settings.recoverySeconds * 1_000);
      if (wrong !== undefined) return wrong;
      // What was processed before the restart arrives once more.
      for (const { id, type } of shop.service.webhooks.deliveries())
        if (type === "balance.changed") shop.service.webhooks.resend(id);
      return (await deliverAll(shop)) ?? findWrongBalance(shop, holders);
    },
  },
  {
    name: "secrets",
    title: "The API key and the signing secret are in no response and in no line of the output.",
    advice:
      "Keep both on the server: read them from the environment where they are used, and do not log the configuration or send it to a page.",
    async run(shop) {
      const { receiver, signUp } = shop.settings;
      for (const path of new Set(["/", signUp.page ?? "/", signUp.path, receiver])) {
        const { text } = await shop.request("GET", path);
        for (const [, address = ""] of text.matchAll(
          /<(?:script|link)\b[^>]*\b(?:src|href)="(\/(?!\/)[^"]*)"/g,
        ))
          await shop.request("GET", address);
      }
      await shop.request("POST", receiver, { body: "{}" }); // without a signature
      const exposed = shop.listExposed();
      return exposed.length === 0 ? undefined : exposed.join(", ");
    },
  },
];
