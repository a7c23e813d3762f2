/**
 * Two machines on one PostgreSQL whose clocks differ by four minutes, in virtual time: the clock of
 * the database decides.
 */
import type { Clock } from "@loyalty-cards/internal/timers";
import type { ManualClock } from "@loyalty-cards/mock-server";
import { createGate } from "@loyalty-cards/testing/resources";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ensureOutboxTables, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, toEntry } from "../shop.ts";

const minute = 60_000;
/**
 * A request begins at most this long after the first attempt: 24 hours less a minute and the
 * deadline of a worker's attempt.
 */
const lastAttemptMs = 24 * 60 * minute - minute - 30_000;

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const pool = ownSchema().pool(8);
  beforeAll(() => ensureOutboxTables(pool));
  beforeEach(() =>
    pool.query(
      "TRUNCATE issuing_outbox_entries, issuing_outbox_entries_bodies, issuing_outbox_entries_breakers, issuing_outbox_entries_failures",
    ),
  );

  describe("whose clock was three days ahead, and is corrected", () => {
    function openCorrected() {
      const network = createNetwork();
      const clock = {
        aheadMs: 72 * 60 * minute,
        now: () => Date.now() + clock.aheadMs,
        monotonicMs: () => performance.now(),
        after(ms: number, wake: () => void) {
          const timer = setTimeout(wake, ms);
          return () => clearTimeout(timer);
        },
      };
      const testing = { clock, random: () => 0.5 };
      const outbox = postgresOutbox({ client: network.createClient(), pool, testing, log() {} });
      onTestFinished(() => outbox.close({ graceMs: 0 }));
      return { ...network, clock, outbox };
    }

    it("sends what was added meanwhile soon", async () => {
      const { outbox, clock } = openCorrected();
      await outbox.write((transaction) => outbox.add(transaction as never, toEntry(1)));
      clock.aheadMs = 0;
      expect(await outbox.drain({ maxMs: 20_000 })).toMatchObject({ issued: 1 });
      const addedAtMs = Number((await outbox.get(1))?.addedAt);
      expect(addedAtMs).toBeLessThan(Date.now() + minute);
    });

    it("leaves it to a person whether a request that was sent meanwhile issued a card", async () => {
      const { outbox, clock, weather, requests } = openCorrected();
      await outbox.addAll([toEntry(1)]);
      weather.push("lost");
      // A busy machine may need several calls until the request is sent.
      while (requests.length === 0)
        expect(await outbox.issue(1, { deadlineMs: 50 })).toMatchObject({ state: "waiting" });
      clock.aheadMs = 0;
      expect(await outbox.drain({ maxMs: 20_000 })).toMatchObject({ unknown: 1 });
      expect(requests).toHaveLength(1);
    });

    it("ends a pause that began meanwhile", async () => {
      const { outbox, clock, weather } = openCorrected();
      await outbox.addAll([toEntry(1), toEntry(2), toEntry(3), toEntry(4)]);
      weather.push(503, 503, 503);
      const drained = outbox.drain({ concurrency: 1 });
      await expect.poll(async () => (await outbox.count()).paused).toHaveLength(1);
      clock.aheadMs = 0;
      await drained;
      await outbox.drain({ maxMs: 20_000 });
      expect(await outbox.count()).toMatchObject({
        waiting: 0,
        unknown: 3,
        issued: 1,
        paused: [],
      });
    });
  });

  describe.each([
    ["ahead of", 2 * minute],
    ["behind", -2 * minute],
  ])(
    "a machine whose clock is %s that of the database, and one whose clock is not",
    (_name, offsetMs) => {
      function openMachines() {
        let passedMs = 0;
        const serviceClock: ManualClock = { now: () => Date.now() + passedMs, moveTo: () => {} };
        const network = createNetwork({ clock: serviceClock });
        function openMachine(ownOffsetMs: number) {
          const clock: Clock = {
            now: () => Date.now() + passedMs + ownOffsetMs,
            monotonicMs: () => performance.now() + passedMs,
            after(ms, wake) {
              const timer = setTimeout(wake, ms);
              return () => clearTimeout(timer);
            },
          };
          // The clock is that of the client: an outbox with one of its own would use it for the
          // database too.
          const client = network.createClient({ testing: { clock, random: () => 0.5 } });
          const outbox = postgresOutbox({ client, pool, log: () => {} });
          onTestFinished(() => outbox.close({ graceMs: 0 }));
          return outbox;
        }
        /**
         * Lets time pass on every clock. What the database has stored becomes older, because its
         * clock cannot be set.
         */
        async function pass(ms: number): Promise<void> {
          passedMs += ms;
          const age = (column: string) => `${column} = ${column} - ${Math.round(ms)}`;
          const columns = ["due", "firstattempt", "lastattempt", "uncertain", "added", "ended"];
          await pool.query(`UPDATE issuing_outbox_entries SET ${columns.map(age).join(", ")}`);
          await pool.query(
            `UPDATE issuing_outbox_entries_breakers SET ${["since", "due"].map(age).join(", ")}`,
          );
        }
        /** How long until the entry is due, or its lease expires, on the clock of the database. */
        async function getDelayMs(): Promise<number> {
          const now = "extract(epoch FROM clock_timestamp()) * 1000";
          const { rows } = await pool.query(
            `SELECT due - ${now} AS delay FROM issuing_outbox_entries`,
          );
          return Number(rows[0]?.delay);
        }
        const [first, second] = [openMachine(offsetMs), openMachine(-offsetMs)];
        const signUp = () => first.addAll([toEntry(1)]);
        const countCards = () => new Set(network.cards.map(({ cardId }) => cardId)).size;
        return { ...network, first, second, pass, getDelayMs, signUp, countCards };
      }

      it("has an entry until its lease expires in the database, and both record the same card", async () => {
        const { first, second, pass, getDelayMs, signUp, weather, requests, countCards } =
          openMachines();
        await signUp();
        const [sent, response] = [createGate(), createGate<"ok">()];
        weather.push(() => {
          sent.open();
          return response.opened;
        });
        const issuing = first.issue(1);
        await sent.opened;
        await pass((await getDelayMs()) - 20_000);
        expect(await second.drain({ maxMs: 300 })).toMatchObject({ waiting: 1 });
        expect(requests).toHaveLength(1);
        await pass(20_000);
        expect(await second.drain()).toMatchObject({ issued: 1 });
        response.open("ok");
        await issuing;
        expect(await first.get(1)).toEqual(await second.get(1));
        expect([
          requests.length,
          new Set(requests.map(({ key }) => key)).size,
          countCards(),
        ]).toEqual([2, 1, 1]);
      });

      it("lets the other one repeat a request when its pause is over in the database", async () => {
        const { first, second, pass, getDelayMs, signUp, weather, requests, countCards } =
          openMachines();
        await signUp();
        weather.push(new Response(null, { status: 503, headers: { "retry-after": "60" } }));
        expect(await first.issue(1, { deadlineMs: 10_000 })).toMatchObject({
          state: "waiting",
          attempts: 1,
        });
        await pass((await getDelayMs()) - 20_000);
        expect(await second.drain()).toMatchObject({ waiting: 1 });
        expect(requests).toHaveLength(1);
        await pass(20_000);
        expect(await second.drain()).toMatchObject({ issued: 1 });
        expect([requests.length, countCards()]).toEqual([2, 1]);
      });

      // G26
      it.each([
        [
          "repeats a request that began less than 24 hours ago",
          lastAttemptMs - 30_000,
          "issued",
          2,
        ],
        ["sends nothing after 24 hours", lastAttemptMs + 1_000, "unknown", 1],
      ])("%s in the database", async (_case, passedMs, state, sent) => {
        const { first, second, pass, signUp, weather, requests, countCards } = openMachines();
        await signUp();
        weather.push("lost");
        // A busy machine may need several calls until the request is sent.
        while (requests.length === 0)
          expect(await first.issue(1, { deadlineMs: 100 })).toMatchObject({ state: "waiting" });
        await pass(passedMs);
        expect(await second.drain()).toMatchObject({ [state]: 1 });
        expect([requests.length, countCards()]).toEqual([sent, 1]);
      });
    },
  );
});
