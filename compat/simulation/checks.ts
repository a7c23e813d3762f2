/** The checks after each history: each is a guarantee of docs/guarantees.md. */
import type { History, Stage } from "./stage.ts";
import { frameworkLines } from "./world.ts";

export interface Violation {
  /** The number of the guarantee: G1. */
  guarantee: string;
  message: string;
}

type Check = (stage: Stage) => string[];

const readUsers = ({ shopMachine, history }: Stage) =>
  shopMachine.readRows(
    `SELECT *, ${history.shop === "express" ? "card" : "cardId"} AS card FROM users`,
  ) as unknown as { id: string; name: string; card: string | null }[];

const isDiskGood = ({ actions }: History) =>
  actions.every(({ type }) => type !== "disk full" && type !== "file locked");

/**
 * Whether a clock can be set while a request without a response may still issue a card, because it
 * runs for minutes or hours, or because the service rejects its form to another request meanwhile:
 * that voids G1.
 */
const isClockSetMeanwhile = ({ actions, alternatives }: History) =>
  actions.some(({ type }) => type === "clock") &&
  (alternatives.includes("fickle 422") ||
    actions.some(({ type }) => ["late requests", "machines sleep", "two nights"].includes(type)));

/** The checks by guarantee. */
export const checks: Readonly<Record<string, Check>> = {
  /** At most one card for each user. */
  G1({ issued, history }) {
    const names = [...issued.values()].map(({ name }) => name);
    return names
      .filter((name, index) => names.indexOf(name) !== index && !isClockSetMeanwhile(history))
      .map((name) => `${name} has more than one card`);
  },

  /** A user who was saved gets a card, or is listed as rejected or unknown. */
  G2(stage) {
    const users = readUsers(stage);
    const entries = new Map(
      stage.shopMachine
        .readRows("SELECT * FROM issuing_outbox_entries")
        .map((entry) => [entry["name"], entry]),
    );
    const names = [...stage.issued.values()].map(({ name }) => name);
    const isFickle = stage.history.alternatives.includes("fickle 422"); // it rejects a form that it accepts later
    const lost: string[] = [];
    for (const { visitor, status = 0, form } of stage.visits)
      if ([201, 202, 422].includes(status) && !users.some(({ name }) => name === form.name))
        lost.push(`visitor ${visitor} got ${status} and is not saved`);
    for (const { id, card, name } of users) {
      const entry = entries.get(id);
      if (entry === undefined) lost.push(`user ${id} is saved and owed no card`);
      else if (entry["state"] === "issued" && card !== JSON.parse(String(entry["result"])).cardId)
        lost.push(`the card of user ${id} is not stored with the user`);
      else if (entry["state"] === "waiting") lost.push(`user ${id} still waits`);
      else if (entry["state"] === "rejected" && !isFickle && names.includes(name))
        lost.push(`user ${id} is listed as rejected and has a card`);
    }
    for (const name of stage.rejected)
      if (!isFickle && names.includes(name))
        lost.push(`${name} has a card, and the client said that there is none`);
    return lost;
  },

  /** An acknowledged event takes effect exactly once. */
  G3({ service, booksMachine }) {
    const rows = booksMachine.readRows(
      "SELECT event, count(*) AS times FROM bookings GROUP BY event",
    );
    const booked = new Set(rows.map(({ event }) => event));
    const deliveries = service.webhooks.deliveries({ endpointId: service.endpoints[1]?.id ?? "" });
    return [
      ...rows
        .filter(({ times }) => Number(times) > 1)
        .map(({ event, times }) => `${event} was booked ${times} times`),
      ...deliveries
        .filter(({ state, eventId }) => state === "delivered" && !booked.has(eventId))
        .map(({ eventId }) => `${eventId} was acknowledged and is not booked`),
    ];
  },

  /** The newest balance wins. */
  G4({ service, shopMachine, issued }) {
    const rows = shopMachine.readRows("SELECT * FROM balances");
    const balances = new Map(rows.map(({ card, cardId, balance }) => [card ?? cardId, balance]));
    const endpointId = service.endpoints[0]?.id ?? "";
    const deliveries = service.webhooks
      .deliveries({ endpointId, type: "balance.changed" })
      .map(({ body, state }) => ({ ...JSON.parse(body), state }))
      .sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? 1 : -1));
    return [...issued.keys()].flatMap((id) => {
      const [newest, second] = deliveries.filter(({ data }) => data.passId === id);
      if (newest?.state !== "delivered") return [];
      if (newest.createdAt === second?.createdAt) return []; // no order
      const { balance } = newest.data;
      if (balances.get(id) === balance) return [];
      return [`the shop shows ${balances.get(id)} for ${id}, and the newest event says ${balance}`];
    });
  },

  /** What is not genuine and fresh changes nothing. */
  G5({ forged, shopMachine }) {
    const events = shopMachine.readRows(
      "SELECT id FROM webhook_inbox_events WHERE name LIKE 'evt_forged%'",
    );
    const balances = shopMachine.readRows(
      "SELECT balance FROM balances WHERE balance IN (9999, 8888)",
    );
    return [
      ...forged
        .filter(({ status }) => status < 400)
        .map(({ kind, status }) => `a delivery (${kind}) got ${status}`),
      ...events.map(({ id }) => `${id} was stored`),
      ...balances.map(() => "a forged balance is shown"),
    ];
  },

  /** No call outlives its deadline: the sign-up asks for five seconds. Nor do its timers. */
  G6: ({ network, history }) => [
    ...network.processes
      .flatMap(({ name, durationsMs }) => (name.startsWith("shop") ? durationsMs : []))
      .filter((ms) => ms > 5_200 && isDiskGood(history))
      .map((ms) => `a sign-up with a deadline of 5 s took ${Math.round(ms)} ms`),
    ...network.processes
      .filter(({ leftTimers }) => leftTimers > 0)
      .map(({ name, leftTimers }) => `the calls of the ${name} left ${leftTimers} timers`),
  ],

  /** The key and the customer's data reach the service only. */
  G7: ({ network }) => network.strays.map((stray) => `sent elsewhere: ${stray}`),

  /** No secret and no personal data in a log. */
  G8({ shopSecrets, booksSecret, network }) {
    const hidden = [
      ...shopSecrets,
      booksSecret,
      network.apiKey,
      "Visitor ",
      "@example.com",
      "60010",
    ];
    return [...network.processes.flatMap(({ lines }) => lines), ...frameworkLines.splice(0)]
      .filter((line) => hidden.some((text) => line.includes(text)))
      .map((line) => `a log has what it must not have: ${line}`);
  },

  /** A user has the card of the own form. */
  G9(stage) {
    const wrong: string[] = [];
    for (const { name, card } of readUsers(stage)) {
      const owner = card === null ? name : stage.issued.get(card)?.name;
      if (owner !== name)
        wrong.push(`${name} has the card ${card}, which is of ${owner ?? "nobody"}`);
    }
    for (const { name, phone } of stage.issued.values()) {
      const forms = stage.visits.map(({ form }) => form).filter((form) => form.name === name);
      if (
        name.startsWith("Visitor") &&
        !forms.some((form) => phone.replaceAll(/\D/g, "").endsWith(form.phone))
      )
        wrong.push(`${name} has a card with a phone that no form had`);
    }
    return wrong;
  },

  /** A sign-up succeeds while the service fails; 409 is for an email that another user has. */
  G10: ({ visits, history }) =>
    visits
      .filter(
        ({ form, path, status }) => status !== 409 || (path === "/sign-up" && form.email === ""),
      )
      .filter(({ status = 201 }) => ![201, 202, 422].includes(status) && isDiskGood(history))
      .map(({ path, status }) => `${path} got ${status}`),

  /** No request makes a receiver fail or a process end. */
  G11: ({ forged, network, history }) => [
    ...network.processes
      .flatMap(({ name, lines }) => lines.map((line) => `${name}: ${line}`))
      .filter((line) => line.includes(": uncaught:") && isDiskGood(history)),
    ...forged
      .filter(({ status }) => status >= 500)
      .map(({ kind, status }) => `a delivery (${kind}) got ${status}`),
  ],

  /**
   * After the troubles everything is done, without a person, and no template is paused whose
   * service works.
   */
  G12: ({ isSettled, delayed, shopMachine, world }) => [
    ...(world.isExhausted ? ["the history never comes to rest"] : []),
    ...(isSettled ? [] : ["something is still waiting long after the troubles"]),
    ...delayed.map((row) => `${row} waits for a clock that was set back`),
    ...shopMachine
      .readRows(
        `SELECT topic FROM issuing_outbox_entries_breakers b WHERE due IS NOT NULL
         AND EXISTS (SELECT 1 FROM issuing_outbox_entries e WHERE e.topic = b.topic AND e.state = 'issued' AND e.ended > b.since)`,
      )
      .map(({ topic }) => `${topic} is paused although a card was issued since`),
  ],
};

export function check(stage: Stage): Violation[] {
  return Object.entries(checks).flatMap(([guarantee, run]) =>
    run(stage).map((message) => ({ guarantee, message })),
  );
}
