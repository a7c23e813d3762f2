/** The checks of the sign-up: each visitor whose sign-up succeeded has one card, whatever happens meanwhile. */
import { type Reply, readUntil, type Shop, type Visitor } from "./shop.ts";

export interface Check {
  name: string;
  /** What holds when it passes, in a sentence for the developer. */
  title: string;
  /** What to change when it fails. */
  advice: string;
  /** When it fails, the others would prove nothing. */
  isEssential?: true;
  /** @returns what was seen instead; undefined when it passes. */
  run(shop: Shop): Promise<string | undefined>;
}

/** How long a card can take that the shop issues after its response. */
const cardTimeoutMs = 30_000;
/** What the service says about the number below, which looks like a phone number. */
const refusedPhone = "+48600100200123";
const refusedDetail = "The phone number is not valid.";

const isSuccess = ({ status = 0 }: Reply) => status >= 200 && status < 400;
const describe = ({ status, text }: Reply) =>
  status === undefined ? "got no response within 20 s" : `got ${status}: ${text.slice(0, 200)}`;
const createVisitors = (shop: Shop, count: number) =>
  Array.from({ length: count }, () => shop.createVisitor());

/** Waits until every visitor is a member with one card, and returns what differs for the first who is not. */
async function findWrongCard(
  shop: Shop,
  visitors: readonly Visitor[],
  limitMs = cardTimeoutMs,
): Promise<string | undefined> {
  async function find(): Promise<string | undefined> {
    const members = await shop.readMembers();
    for (const visitor of visitors) {
      const { email } = visitor;
      const [card, ...others] = shop.readCards(visitor);
      if (others.length > 0) return `${email} has ${others.length + 1} cards`;
      const member = members.get(email);
      if (member === undefined) return `${email} is not among the members`;
      if (card === undefined) return `${email} has no card`;
      if (member.card !== card)
        return `${email} has a card in the service, and in the shop ${member.card ?? "none"}`;
    }
    return undefined;
  }
  const isFinal = (wrong: string | undefined) => wrong === undefined || wrong.endsWith(" cards");
  const wrong = await readUntil(find, isFinal, limitMs);
  return wrong === undefined || isFinal(wrong) ? wrong : `${wrong} after ${limitMs / 1000} s`;
}

/** The moments of the service at which the shop is killed. */
const moments = [
  { moment: "before the service issued the cards", phase: "before" },
  { moment: "after the service issued the cards, before the shop got the responses", phase: "after-commit" },
  { moment: "at the first response of the service", phase: undefined },
] as const;

export const signUpChecks: readonly Check[] = [
  {
    name: "sign-up",
    title: "A sign-up gives one card, and the shop shows it.",
    advice:
      "Check signUp, members and the form's fields in judge.json, and that the shop reads LOYALTY_URL, LOYALTY_API_KEY and LOYALTY_TEMPLATE_ID.",
    isEssential: true,
    async run(shop) {
      const visitor = shop.createVisitor();
      const reply = await shop.submit(visitor);
      return isSuccess(reply) ? findWrongCard(shop, [visitor]) : `the form ${describe(reply)}`;
    },
  },
  {
    name: "repeated-form",
    title: "A form that is sent again gives no second card.",
    advice:
      "Find the member by the email address of the form in the transaction that saves it (a UNIQUE column), and pass the stored id as userId.",
    async run(shop) {
      const visitor = shop.createVisitor();
      for (let count = 1; count <= 3; count += 1) {
        const reply = await shop.submit(visitor);
        if ((reply.status ?? 500) >= 500) return `form ${count} ${describe(reply)}`;
      }
      return findWrongCard(shop, [visitor]);
    },
  },
  {
    name: "forms-at-once",
    title: "Two forms of one visitor at the same moment give one card.",
    advice:
      "Save the member in one statement (INSERT … ON CONFLICT on a UNIQUE column): between a SELECT and an INSERT the other form passes too.",
    async run(shop) {
      const allVisitors: Visitor[] = [];
      // The forms of the first round open the connections, and may arrive one after the other.
      for (let round = 1; round <= 3; round += 1) {
        const visitors = createVisitors(shop, 4);
        allVisitors.push(...visitors);
        const forms = [...visitors, ...visitors].map((visitor) => shop.submit(visitor));
        const failed = (await Promise.all(forms)).find(({ status = 500 }) => status >= 500);
        if (failed !== undefined) return `a form ${describe(failed)}`;
      }
      return findWrongCard(shop, allVisitors);
    },
  },
  {
    name: "lost-response",
    title: "A response of the service that is lost gives one card.",
    advice:
      "Send the same idempotency key again: call issueCard with the id of the stored user as userId, or use the outbox.",
    async run(shop) {
      for (const kind of ["reset", "truncate"] as const) {
        const visitor = shop.createVisitor();
        shop.service.faults.add({ kind, phase: "after-commit", times: 1, match: { operation: "issueCard" } });
        const reply = await shop.submit(visitor);
        if (!isSuccess(reply)) return `the form ${describe(reply)}`;
        const wrong = await findWrongCard(shop, [visitor]);
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    },
  },
  {
    name: "rejected-form",
    title: "A 422 is shown to the visitor with its detail, and the corrected form gives one card.",
    advice:
      "After a 422 respond with error.userMessage, and send the corrected form with outbox.correct: the service can repeat a 422 for 24 hours.",
    async run(shop) {
      const visitor = shop.createVisitor();
      const { phone } = visitor;
      visitor.phone = refusedPhone;
      let wasRefused = false;
      const refusal = shop.waitForTraffic(
        (event) => event.kind === "request" && event.status === 422,
        1,
        20_000,
      );
      void refusal.then(() => {
        wasRefused = true;
      });
      const reply = await shop.submit(visitor);
      const hasOwnError = !wasRefused && !isSuccess(reply) && (reply.status ?? 500) < 500; // the shop rejects it itself
      if (!hasOwnError && !reply.text.includes(refusedDetail))
        return `the form with the phone number ${refusedPhone} ${describe(reply)}, without "${refusedDetail}"`;
      visitor.phone = phone;
      const corrected = await shop.submit(visitor, toCorrection(shop, reply));
      return isSuccess(corrected)
        ? findWrongCard(shop, [visitor])
        : `the corrected form ${describe(corrected)}`;
    },
  },
  {
    name: "service-down",
    title: "A sign-up while the service is down succeeds, and the card follows.",
    advice:
      "Save the user and the owed card in one transaction (outbox.add), respond 202 when the card is late, and run a worker (outbox.work) that issues it.",
    async run(shop) {
      const visitors = createVisitors(shop, 3);
      const { id } = shop.service.faults.add({ kind: "status", phase: "before", status: 503 });
      try {
        for (const visitor of visitors) {
          const reply = await shop.submit(visitor);
          if (!isSuccess(reply)) return `the form ${describe(reply)}`;
        }
      } finally {
        shop.service.faults.remove(id);
      }
      return findWrongCard(shop, visitors);
    },
  },
  {
    name: "killed-sign-ups",
    title: "A shop that is killed during sign-ups loses no card and gives no second one.",
    advice:
      "Save the user and the owed card in one transaction before the request to the service (outbox.add), and let a worker (outbox.work) issue it after a restart.",
    async run(shop) {
      const allVisitors: Visitor[] = [];
      for (const { moment, phase } of moments) {
        const visitors = createVisitors(shop, 3);
        allVisitors.push(...visitors);
        const fault = { kind: "hang", match: { operation: "issueCard" } } as const;
        if (phase !== undefined) shop.service.faults.add({ ...fault, phase });
        const reached = shop.waitForTraffic(
          ({ kind }) => kind === "request",
          phase === undefined ? 1 : 3,
          3_000,
        );
        const sent = visitors.map((visitor) => shop.submit(visitor));
        await reached;
        await shop.restart();
        shop.service.faults.clear();
        for (const [index, reply] of (await Promise.all(sent)).entries()) {
          const visitor = visitors[index];
          if (reply.status !== undefined || visitor === undefined) continue;
          const again = await shop.submit(visitor); // a visitor without a response sends the form again
          if ((again.status ?? 500) >= 500) return `the form after a kill ${moment} ${describe(again)}`;
        }
      }
      // Once for all kills, because the leases of a killed program can last for half a minute.
      return findWrongCard(shop, allVisitors, shop.settings.recoverySeconds * 1_000);
    },
  },
];

/** Runs last. */
export const laterCheck: Check = {
  name: "later-cards",
  title: "No visitor has a second card later.",
  advice:
    "A worker or a repeated form sends another idempotency key for the same user: pass the id of the stored user as userId, each time.",
  async run(shop) {
    const wrong = shop.visitors.filter((visitor) => shop.readCards(visitor).length > 1);
    return wrong.length === 0 ? undefined : `second cards of ${wrong.map(({ email }) => email).join(", ")}`;
  },
};

/** Where the corrected form is sent: the path of judge.json, with `{userId}` and the like of the response. */
function toCorrection({ settings }: Shop, { text }: Reply): { method: string; path: string } | undefined {
  const { correction } = settings;
  if (correction === undefined) return undefined;
  let members: Record<string, unknown> = {};
  try {
    members = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // a page, whose path has no placeholder
  }
  const path = correction.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(members[name])),
  );
  return { ...correction, path };
}
