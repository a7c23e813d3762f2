/** The checks after each history: each is a guarantee of docs/guarantees.md. */
import { readRows } from "./files.ts";
import type { Evidence } from "./stage.ts";

export interface Violation {
  /** The number of the guarantee: G1. */
  guarantee: string;
  message: string;
}

type Check = (evidence: Evidence) => string[];

interface UserRow {
  id: string;
  name: string;
  email: string;
  phone?: string;
  card: string | null;
}

const readUsers = ({ shopFile, history }: Evidence) =>
  readRows(
    shopFile,
    `SELECT *, ${history.shop === "express" ? "card" : "cardId"} AS card FROM users`,
  ) as unknown as UserRow[];

const readEntries = ({ shopFile }: Evidence) =>
  readRows(shopFile, "SELECT * FROM issuing_outbox_entries") as unknown as {
    user_id: string;
    state: string;
    card_id: string | null;
    work: number | null;
  }[];

const isDiskGood = ({ actions }: Evidence["history"]) =>
  actions.every(({ type }) => type !== "disk full" && type !== "file locked");

/** Whether a clock can be set while a request is unanswered for minutes or hours: that voids G1. */
const isClockSetMeanwhile = ({ actions }: Evidence["history"]) =>
  actions.some(({ type }) => type === "clock") &&
  actions.some(({ type }) => ["late requests", "machines sleep", "two nights"].includes(type));

/** The checks by guarantee. */
export const checks: Readonly<Record<string, Check>> = {
  /** At most one card for each user. */
  G1({ issued, history }) {
    if (isClockSetMeanwhile(history)) return [];
    const byName = new Map<string, string[]>();
    for (const [id, { name }] of issued) byName.set(name, [...(byName.get(name) ?? []), id]);
    return [...byName]
      .filter(([, ids]) => ids.length > 1)
      .map(([name, ids]) => `${name} has ${ids.length} cards: ${ids.join(", ")}`);
  },

  /** A user who was saved gets a card, or is listed as rejected or unknown. */
  G2(evidence) {
    const users = readUsers(evidence);
    const entries = new Map(readEntries(evidence).map((entry) => [entry.user_id, entry]));
    const lost: string[] = [];
    for (const { visitor, status, form } of evidence.visits) {
      if (![201, 202, 422].includes(status ?? 0)) continue;
      if (!users.some(({ name }) => name === form.name))
        lost.push(`visitor ${visitor} got ${status} and is not saved`);
    }
    for (const { id, card, name } of users) {
      const entry = entries.get(id);
      if (entry === undefined) lost.push(`user ${id} is saved and owed no card`);
      else if (entry.state === "issued" && card !== entry.card_id)
        lost.push(`the card of user ${id} is not stored with the user`);
      else if (entry.state === "waiting") lost.push(`user ${id} still waits`);
      else if (
        entry.state === "rejected" &&
        !evidence.history.alternatives.includes("fickle 422") && // it rejects a form that it accepts later
        [...evidence.issued.values()].some((issued) => issued.name === name)
      )
        lost.push(`user ${id} is listed as rejected and has a card`);
    }
    return lost;
  },

  /** An acknowledged event takes effect exactly once. */
  G3({ service, booksFile }) {
    const bookings = readRows(booksFile, "SELECT event, count(*) AS times FROM bookings GROUP BY event") as {
      event: string;
      times: number;
    }[];
    const times = new Map(bookings.map(({ event, times }) => [event, times]));
    const wrong = bookings
      .filter(({ times }) => times > 1)
      .map(({ event, times }) => `${event} was booked ${times} times`);
    for (const delivery of service.webhooks.deliveries()) {
      if (delivery.endpointId !== service.endpoints[1]?.id || delivery.state !== "delivered") continue;
      if (!times.has(delivery.eventId)) wrong.push(`${delivery.eventId} was acknowledged and is not booked`);
    }
    return wrong;
  },

  /** The newest balance wins. */
  G4(evidence) {
    const { service, shopFile, issued } = evidence;
    const balances = new Map(
      readRows(shopFile, "SELECT * FROM balances").map(({ card, cardId, balance }) => [
        card ?? cardId,
        balance,
      ]),
    );
    const deliveries = service.webhooks.deliveries({
      endpointId: service.endpoints[0]?.id ?? "",
      type: "balance.changed",
    });
    const wrong: string[] = [];
    for (const id of issued.keys()) {
      const events = deliveries
        .map((delivery) => ({ ...delivery, event: JSON.parse(delivery.body) }))
        .filter(({ event }) => event.data.passId === id)
        .sort((a, b) => (a.event.createdAt + a.eventId < b.event.createdAt + b.eventId ? 1 : -1));
      const [newest, second] = events;
      if (newest !== undefined && newest.event.createdAt === second?.event.createdAt) continue; // no order
      if (newest?.state !== "delivered") continue;
      if (balances.get(id) !== newest.event.data.balance)
        wrong.push(
          `the shop shows ${balances.get(id)} for ${id}, and the newest event says ${newest.event.data.balance}`,
        );
    }
    return wrong;
  },

  /** What is not genuine and fresh changes nothing. */
  G5({ forged, shopFile }) {
    const wrong = forged
      .filter(({ eventId }) => eventId !== "")
      .filter(({ status }) => status < 400)
      .map(({ kind, status }) => `a delivery (${kind}) got ${status}`);
    const stored = readRows(shopFile, "SELECT id FROM webhook_inbox_events WHERE id LIKE 'evt_forged%'");
    for (const { id } of stored) wrong.push(`${id} was stored`);
    for (const { balance } of readRows(shopFile, "SELECT balance FROM balances"))
      if (balance === 9_999 || balance === 8_888) wrong.push("a forged balance is shown");
    return wrong;
  },

  /** No call outlives its deadline: the sign-up asks for five seconds. */
  G6: ({ durationsMs, history }) =>
    (isDiskGood(history) ? durationsMs : [])
      .filter((ms) => ms > 5_200)
      .map((ms) => `a sign-up with a deadline of 5 s took ${Math.round(ms)} ms`),

  /** The key and the customer's data reach the service only. */
  G7: ({ network }) => network.strays.map((stray) => `sent elsewhere: ${stray}`),

  /** No secret and no personal data in a log. */
  G8({ lines, secrets, network }) {
    const hidden = [...secrets, network.apiKey, "Visitor ", "@example.com", "60010"];
    return lines
      .filter((line) => hidden.some((text) => line.includes(text)))
      .map((line) => `a log has what it must not have: ${line}`);
  },

  /** A user has the card of the own form. */
  G9(evidence) {
    const wrong: string[] = [];
    for (const { name, card } of readUsers(evidence)) {
      const owner = card === null ? undefined : evidence.issued.get(card);
      if (card !== null && owner === undefined)
        wrong.push(`${name} has the card ${card}, which was never issued`);
      if (owner !== undefined && owner.name !== name) wrong.push(`${name} has the card of ${owner.name}`);
    }
    for (const { name, phone } of evidence.issued.values()) {
      const sent = evidence.visits.filter(({ form }) => form.name === name).map(({ form }) => form.phone);
      if (name.startsWith("Visitor") && !sent.some((form) => phone.replaceAll(/\D/g, "").endsWith(form)))
        wrong.push(`${name} has a card with a phone that no form had`);
    }
    return wrong;
  },

  /** A sign-up succeeds while the service fails. */
  G10({ visits, history }) {
    if (!isDiskGood(history)) return [];
    return visits
      .filter(({ status }) => status !== undefined && ![201, 202, 409, 422].includes(status))
      .map(({ path, status }) => `${path} got ${status}`);
  },

  /** No request makes a receiver fail or a process end. */
  G11: ({ forged, crashes, history }) => [
    ...(isDiskGood(history) ? crashes : []),
    ...forged
      .filter(({ status }) => status >= 500)
      .map(({ kind, status }) => `a delivery (${kind}) got ${status}`),
  ],

  /** After the troubles everything is done, without a person. */
  G12: ({ isSettled }) => (isSettled ? [] : ["something is still waiting long after the troubles"]),
};

export function check(evidence: Evidence): Violation[] {
  return Object.entries(checks).flatMap(([guarantee, run]) =>
    run(evidence).map((message) => ({ guarantee, message })),
  );
}
