/** People: visitors who fill in the form, a cashier, customers with a card, and an attacker. */
import { signWebhookSync } from "@loyalty-cards/webhook-verify";
import { type Message, shopPort, tillPort } from "./network.ts";
import type { Stage, Visit } from "./stage.ts";
import { type Random, startMs } from "./world.ts";

/** `wrong`: the service rejects it. The others are different numbers of one person. */
export type PhoneKind = "wrong" | "first" | "second" | "none";

export const forgeries = [
  "other secret",
  "other body",
  "no signature",
  "stale",
  "future",
  "not signed for this shop",
] as const;

/** Sends the form of the sign-up, or corrects the form of a user. */
export async function sendForm(
  stage: Stage,
  visitor: number,
  phone: PhoneKind,
  isCorrection = false,
) {
  const { history, network, visits } = stage;
  const earlier = visits.filter((visit) => visit.visitor === visitor);
  const form = {
    name: toName(stage, visitor),
    email: visitor >= 3 ? "" : `visitor${visitor}@example.com`, // not everybody has one
    phone: toPhone(visitor, phone),
  };
  if (form.email === "" && earlier.length > 0 && !isCorrection) return; // the shop would take a second form for another person
  const userId = earlier.findLast((visit) => visit.userId !== undefined)?.userId;
  if (isCorrection && (userId === undefined || history.shop === "fastify")) return;
  const path = isCorrection ? `/users/${userId}` : "/sign-up";
  const visit: Visit = { visitor, path, form };
  visits.push(visit);
  const request = toRequest(shopPort, isCorrection ? "PUT" : "POST", path, JSON.stringify(form));
  const reply = await network.send(`visitor ${visitor}`, request).catch(() => undefined);
  if (reply === undefined || reply.isCut || !reply.headers["content-type"]?.includes("json"))
    return;
  visit.status = reply.status;
  visit.userId = JSON.parse(reply.body).userId;
}

/**
 * The cashier repeats the sign-up with the time of the first attempt, unless the client says that
 * there is no card.
 */
export async function signUpAtTill(
  { history, network, world, issued, rejected }: Stage,
  customer: number,
): Promise<void> {
  const name = `Customer ${customer} of the till, ${history.seed}`;
  let firstAttemptAt = 0;
  for (let attempt = 1; attempt <= 5; attempt++) {
    const request = toRequest(tillPort, "POST", "/", JSON.stringify({ name, firstAttemptAt }));
    firstAttemptAt ||= startMs + world.nowMs;
    const reply = await network.send("cashier", request).catch(() => undefined);
    const result = reply?.isCut ? undefined : reply?.body;
    const hasCard = [...issued.values()].some((card) => card.name === name);
    if (result === "rejected" || (result === "no card yet" && hasCard)) rejected.push(name);
    if (result === "issued" || result === "rejected") return;
    await world.sleep(3_000);
  }
}

/** A visitor with a card collects points, at once and perhaps once more, or redeems them. */
export function trade(
  stage: Stage,
  type: "purchase" | "redeem",
  { visitor, points }: { visitor: number; points: number },
  isTwice = false,
): void {
  const { cards } = stage.service;
  const card = [...stage.issued].find(([, { name }]) => name === toName(stage, visitor))?.[0];
  if (card === undefined) return;
  try {
    cards[type](card, { points });
  } catch {} // more points than the card has
  if (isTwice) stage.world.after(300, () => cards[type](card, { points }));
}

/** Sends what an attacker sends: the network does not help or hinder. */
export async function deliver(
  { shops, world }: Stage,
  message: Message,
): Promise<number | undefined> {
  const shop = shops.find(
    ({ isAlive, listeners, frozenMs }) => isAlive && listeners.size > 0 && frozenMs === 0,
  );
  const [port] = shop?.listeners.keys() ?? [];
  if (shop === undefined || port === undefined) return undefined;
  world.log(
    "attacker",
    message.headers["service-signature"]?.slice(0, 12) ?? "without a signature",
  );
  return (await shop.receive(port, message)).status;
}

export const sendGarbage = (stage: Stage, body: string) =>
  deliver(stage, toRequest(shopPort, "POST", "/sign-up", body));

export async function forge(
  stage: Stage,
  kind: (typeof forgeries)[number],
  random: Random,
): Promise<void> {
  const nowMs = startMs + stage.world.nowMs;
  const rawBody = JSON.stringify({
    id: `evt_forged_${stage.forged.length}_${random.integer(0, 1e6)}`,
    type: "balance.changed",
    createdAt: new Date(nowMs + 3_600_000).toISOString(),
    data: {
      passId: [...stage.issued.keys()][0] ?? "card_unknown",
      balance: 9_999,
      change: 9_999,
      operation: "correction",
      operationId: "op_1",
    },
  });
  const secrets: Record<string, string | undefined> = {
    "other secret": "whsec_guess",
    "not signed for this shop": stage.booksSecret,
  };
  const secret = secrets[kind] ?? (stage.shopSecrets.at(-1) as string);
  const lateSeconds = kind === "stale" ? -301 : kind === "future" ? 302 : 0;
  const timestamp = Math.floor((nowMs + stage.shopMachine.clockErrorMs) / 1000) + lateSeconds;
  const body = kind === "other body" ? rawBody.replace("9999", "8888") : rawBody;
  const message = toRequest(shopPort, "POST", "/webhooks/loyalty", body);
  if (kind !== "no signature")
    message.headers["service-signature"] = signWebhookSync({ rawBody, secret, timestamp });
  const status = await deliver(stage, message);
  if (status !== undefined) stage.forged.push({ kind, status });
}

const toName = ({ history }: Stage, visitor: number) => `Visitor ${visitor} of ${history.seed}`;

/** Each visitor has two numbers, and types a wrong one now and then. */
function toPhone(visitor: number, kind: PhoneKind): string {
  if (kind === "none") return "";
  if (kind === "wrong") return "12";
  return `60010${kind === "first" ? "1" : "2"}${String(visitor).padStart(3, "0")}`;
}

const toRequest = (port: number, method: string, path: string, body: string): Message => ({
  method,
  url: `http://localhost:${port}${path}`,
  body,
  headers: { "content-type": "application/json" },
});
