/** The contract of an inbox. The integration test of each engine runs this suite. */
import { requiredData } from "@loyalty-cards/openapi/events";
import {
  createReceiver,
  type Delivery,
  type EventHandlers,
  isKnownEvent,
  onEvents,
  type ReceiverOutcome,
  signWebhookSync,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import type { InboxOutcome } from "../src/index.ts";
import type { ReplayableInbox } from "../src/replayable-inbox.ts";
import { balanceChanged, put, recordOutcomes } from "./inboxes.ts";

/** The delivery that the workers of all engines pass to their handlers. */
export type Attempt = Delivery & { attempt: number | undefined; source: string };

/** An empty inbox on an engine that retries a failed event immediately. */
export interface InboxUnderTest {
  inbox: ReplayableInbox;
  /** The events that wait or are being processed, and the dead letters. */
  count(): Promise<{ waiting: number; dead: number }>;
  /** Runs the handler for each event, attempt by attempt, until the end of the test. */
  work(handler: (event: WebhookEvent, delivery: Attempt) => unknown): Promise<void>;
  /**
   * An inbox of another source in the same file or queue, with its own worker where workers belong
   * to an inbox.
   */
  openSource(source: string): Promise<Pick<InboxUnderTest, "inbox" | "work">>;
  /** Deletes old events, when the engine has a method for it. */
  deleteOld?(): Promise<void>;
}

export interface OpenOptions {
  attempts: number;
  onOutcome: (outcome: InboxOutcome) => void;
  retentionSeconds?: number;
}

const attempts = 3;

/** Known event types with data that differs from the contract, and the paths of the differences. */
const unexpected: [event: WebhookEvent, paths: string[]][] = [
  [
    { ...balanceChanged("evt_text"), data: { ...balanceChanged("x").data, balance: "120" } },
    ["/data/balance"],
  ],
  [{ ...balanceChanged("evt_none"), data: undefined }, ["/data"]],
  [{ ...balanceChanged("evt_list"), type: "card.added", data: [] }, ["/data"]],
  [
    { ...balanceChanged("evt_null"), type: "consent.changed", data: { passIds: ["card_1", 7] } },
    ["/data/passIds/1"],
  ],
  [
    { ...balanceChanged("evt_tier"), type: "tier.changed", data: { customerId: "cus_1" } },
    ["/data/passId"],
  ],
];

const uncalled = () => Promise.reject(new Error("called with unexpected data"));
/** Handlers for every known event type, without `unexpectedData` and `otherTypes`. */
const knownOnly = Object.fromEntries(
  Object.keys(requiredData).map((type) => [type, uncalled]),
) as unknown as EventHandlers;

/**
 * Sends an event to a receiver with this inbox.
 * @returns its outcome.
 */
async function receive(
  inbox: ReplayableInbox,
  event: WebhookEvent,
): Promise<ReceiverOutcome | undefined> {
  const outcomes: ReceiverOutcome[] = [];
  const options = { secret: "whsec_1", inbox, log: () => {} };
  const receiver = createReceiver({ ...options, onOutcome: (outcome) => outcomes.push(outcome) });
  const rawBody = JSON.stringify(event);
  const headers = { "service-signature": signWebhookSync({ rawBody, secret: "whsec_1" }) };
  await receiver({ method: "POST", headers, rawBody });
  return outcomes[0];
}

/** @param open opens a new inbox for a test, and closes it after the test. */
export function describeInbox(
  name: string,
  open: (options: OpenOptions) => Promise<InboxUnderTest>,
): void {
  describe(`${name} fulfils the contract of an inbox`, () => {
    /** An inbox whose handler fails until `recover` is called. */
    async function opened() {
      const recorded: InboxOutcome["outcome"][] = [];
      const handled: string[] = [];
      const tried = new Map<string, Attempt[]>();
      let isFailing = true;
      const { inbox, count, work, deleteOld } = await open({
        attempts,
        onOutcome: ({ outcome }) => void recorded.push(outcome),
      });
      return {
        inbox,
        count,
        deleteOld,
        recorded,
        handled,
        work: () =>
          work(({ id }, delivery) => {
            tried.set(id, [...(tried.get(id) ?? []), delivery]);
            if (isFailing && id.startsWith("evt_poison")) throw new Error("The handler failed.");
            handled.push(id);
          }),
        getAttempts: (id: string) => (tried.get(id) ?? []).map(({ attempt }) => attempt),
        getYearsReceived: (id: string) =>
          (tried.get(id) ?? []).map(({ receivedAt }) => receivedAt.getUTCFullYear()),
        recover: () => {
          isFailing = false;
        },
        until: (expected: object) => expect.poll(count).toMatchObject(expected),
      };
    }
    const poison = balanceChanged("evt_poison");
    const everyAttempt = [1, 2, 3];

    it("stores an event once, also when duplicates arrive concurrently or after it was processed", async () => {
      const { inbox, count, recorded, handled, work, getAttempts, until } = await opened();
      const results = await Promise.all(
        Array.from({ length: 20 }, () => put(inbox, balanceChanged("evt_1"))),
      );
      expect(results.filter((result) => result === "stored")).toHaveLength(1);
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("duplicate");
      expect(await count()).toEqual({ waiting: 1, dead: 0 });
      await work();
      await until({ waiting: 0 });
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("duplicate");
      expect(handled).toEqual(["evt_1"]);
      expect(recorded.filter((outcome) => outcome === "stored" || outcome === "done")).toEqual([
        "stored",
        "done",
      ]);
      expect(getAttempts("evt_1")).toEqual([1]);
    });

    it("dead-letters an event whose last attempt failed, and processes the others", async () => {
      const { inbox, recorded, handled, work, getAttempts, until } = await opened();
      await put(inbox, poison);
      await put(inbox, balanceChanged("evt_1"));
      await work();
      await until({ waiting: 0, dead: 1 });
      expect([getAttempts("evt_poison"), handled]).toEqual([everyAttempt, ["evt_1"]]);
      expect(recorded.filter((outcome) => outcome === "failed" || outcome === "dead")).toEqual([
        "failed",
        "failed",
        "dead",
      ]);
    });

    it("stores a dead letter again when it is delivered again, with all of its attempts", async () => {
      const { inbox, recorded, handled, work, getAttempts, recover, until } = await opened();
      await put(inbox, poison);
      await work();
      await until({ dead: 1 });
      expect(await put(inbox, poison)).toBe("stored");
      await expect
        .poll(() => getAttempts("evt_poison"))
        .toEqual([...everyAttempt, ...everyAttempt]);
      await until({ waiting: 0, dead: 1 });
      recover();
      expect(await put(inbox, poison)).toBe("stored");
      await until({ waiting: 0, dead: 0 });
      expect(await put(inbox, poison)).toBe("duplicate");
      expect(handled).toEqual(["evt_poison"]);
      expect(recorded.filter((outcome) => outcome === "stored")).toHaveLength(3);
      expect(getAttempts("evt_poison").at(-1)).toBe(1);
    });

    it("passes the bytes and the time of the last delivery to the handler", async () => {
      const { inbox, work, getYearsReceived, recover, until } = await opened();
      const deliver = (receivedAt: string) =>
        put(inbox, poison, { receivedAt: new Date(receivedAt) });
      await deliver("2024-01-01T00:00:00Z");
      await work();
      await until({ dead: 1 });
      recover();
      await deliver("2025-01-01T00:00:00Z");
      await until({ waiting: 0, dead: 0 });
      expect(getYearsReceived("evt_poison")).toEqual([2024, 2024, 2024, 2025]);
    });

    it("stores a dead letter once, and runs its handler once, when duplicates of it arrive concurrently", async () => {
      const { inbox, handled, work, recover, until } = await opened();
      await put(inbox, poison);
      await work();
      await until({ dead: 1 });
      recover();
      const results = await Promise.all(Array.from({ length: 8 }, () => put(inbox, poison)));
      expect(results.filter((result) => result === "stored")).toHaveLength(1);
      expect(results.filter((result) => result === "duplicate")).toHaveLength(7);
      await until({ waiting: 0, dead: 0 });
      expect(handled).toEqual(["evt_poison"]);
    });

    it("replays a dead letter with all of its attempts, and nothing else", async () => {
      const { inbox, handled, work, getAttempts, recover, until } = await opened();
      await put(inbox, poison);
      await put(inbox, balanceChanged("evt_1"));
      expect(await inbox.replay("evt_1")).toBe(false); // it is waiting
      await work();
      await until({ waiting: 0, dead: 1 });
      expect([await inbox.replay("evt_1"), await inbox.replay("evt_none")]).toEqual([false, false]);
      expect(await inbox.replay("evt_poison")).toBe(true);
      await expect
        .poll(() => getAttempts("evt_poison"))
        .toEqual([...everyAttempt, ...everyAttempt]);
      await until({ waiting: 0, dead: 1 });
      recover();
      const replays = await Promise.all([inbox.replay("evt_poison"), inbox.replay("evt_poison")]);
      expect(replays.sort()).toEqual([false, true]);
      await until({ waiting: 0, dead: 0 });
      expect(handled).toEqual(["evt_1", "evt_poison"]);
    });

    it("remembers processed events and dead letters when the engine deletes old events", async () => {
      const { inbox, work, deleteOld, handled, until } = await opened();
      await put(inbox, balanceChanged("evt_1"));
      await put(inbox, poison);
      await work();
      await until({ waiting: 0, dead: 1 });
      await put(inbox, balanceChanged("evt_2")); // some engines delete old events when another event is done
      await expect.poll(() => handled).toEqual(["evt_1", "evt_2"]);
      await deleteOld?.();
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("duplicate");
      await until({ waiting: 0, dead: 1 });
      expect(handled).toEqual(["evt_1", "evt_2"]);
    });

    it("rejects a retention shorter than the service's retries, and accepts one of the same length", async () => {
      const withRetention = (retentionSeconds: number) =>
        open({ attempts, onOutcome() {}, retentionSeconds });
      await expect(withRetention(31_019)).rejects.toThrow(
        /retentionSeconds is 31019; it must be at least 31020 seconds/, // spec 6.3.6
      );
      const { inbox } = await withRetention(31_020);
      expect(await put(inbox, balanceChanged("evt_1"))).toBe("stored");
    });

    it("keeps events of two sources with the same id apart", async () => {
      const { inbox, count, work, openSource } = await open({ attempts, onOutcome() {} });
      const tea = await openSource("tea");
      for (const each of [inbox, tea.inbox]) {
        expect(await put(each, balanceChanged("evt_1"))).toBe("stored");
        expect(await put(each, balanceChanged("evt_1"))).toBe("duplicate");
      }
      const handled: string[] = [];
      const record = ({ id }: WebhookEvent, { source }: Attempt) =>
        void handled.push(`${source} ${id}`);
      await work(record);
      await tea.work(record);
      await expect.poll(() => [...handled].sort()).toEqual([" evt_1", "tea evt_1"]);
      await expect.poll(count).toMatchObject({ waiting: 0 });
      for (const each of [inbox, tea.inbox])
        expect(await put(each, balanceChanged("evt_1"))).toBe("duplicate");
    });

    // G17
    it("stores events whose data differs from the contract, and passes them to `unexpectedData`", async () => {
      const { inbox, count, work } = await open({ attempts, onOutcome() {} });
      for (const [event, unexpectedData] of unexpected)
        expect(await receive(inbox, event)).toMatchObject({
          outcome: "stored",
          status: 204,
          unexpectedData,
        });
      const seen: [string, boolean][] = [];
      const unexpectedData = (event: WebhookEvent) =>
        void seen.push([event.id, isKnownEvent(event)]);
      await work(onEvents({ ...knownOnly, otherTypes: uncalled, unexpectedData }));
      await expect.poll(count).toEqual({ waiting: 0, dead: 0 });
      expect(seen.sort()).toEqual(unexpected.map(([{ id }]) => [id, false]).sort());
    });

    it("dead-letters an event with unexpected data when onEvents has no `unexpectedData`, also with `otherTypes`", async () => {
      const { onOutcome, until, of } = recordOutcomes();
      const { inbox, count, work } = await open({ attempts, onOutcome });
      const [[event] = [poison]] = unexpected;
      await receive(inbox, event);
      await work(onEvents({ ...knownOnly, otherTypes: () => {} }));
      await until("dead");
      const error = { message: expect.stringContaining("/data/balance") };
      expect(of("dead")).toMatchObject([{ event: { id: "evt_text" }, error }]);
      await expect.poll(count).toEqual({ waiting: 0, dead: 1 });
    });

    it("distinguishes ids of 512 characters that differ in the last one, and accepts types of any text", async () => {
      const { inbox, count, work } = await open({ attempts, onOutcome() {} });
      const ids = ["a", "寿", "\t"].map((last) => "寿".repeat(511) + last);
      const types = ["", "\n", "card renamed"];
      for (const [index, id] of ids.entries()) {
        const event = { id, type: types[index] ?? "", createdAt: "x", data: {} };
        expect([await put(inbox, event), await put(inbox, event)]).toEqual(["stored", "duplicate"]);
      }
      const seen: string[] = [];
      await work((event) => void seen.push(event.id, event.type));
      await expect.poll(count).toEqual({ waiting: 0, dead: 0 });
      expect(seen.sort()).toEqual([...ids, ...types].sort());
    });
  });
}
