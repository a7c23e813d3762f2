/**
 * An inbox whose disk or database fails under load: it responds 503 meanwhile, loses nothing, and
 * recovers without a restart.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@loyalty-cards/testing/free-port";
import { createCluster, hasPostgresPrograms } from "@loyalty-cards/testing/own-servers";
// G12
import { listen } from "@loyalty-cards/testing/resources";
import { runsPgBoss } from "@loyalty-cards/testing/servers";
import type { BalanceChanged, Inbox } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { PgBoss } from "pg-boss";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { pgBossInbox } from "../../src/index.ts";
import { deliver, secret } from "../engines.ts";
import { balanceChanged, engines, openInbox, put, recordOutcomes } from "../inboxes.ts";

/** Duration of the database outage; OUTAGE_SECONDS makes it longer. */
const outageMs = Number(process.env["OUTAGE_SECONDS"] ?? 1) * 1000;

const listening = (inbox: Inbox) => listen(nodeReceiver({ secret, inbox, log: () => {} }));

it.skipIf(!hasPostgresPrograms || !runsPgBoss)(
  "responds 503 with pg-boss while PostgreSQL is stopped under load, and loses no event",
  { timeout: 60_000 + 3 * outageMs },
  async () => {
    const cluster = await createCluster(await freePort());
    onTestFinished(() => cluster.remove());
    const boss = new PgBoss({
      connectionString: cluster.url,
      supervise: false,
      schedule: false,
      max: 8,
    });
    boss.on("error", () => {});
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    await boss.createQueue("events");
    const inbox = await pgBossInbox(boss, { queue: "events" });
    const url = await listening(inbox);

    type Phase = "before" | "stopping" | "stopped" | "starting" | "after";
    const responses = new Map<Phase, Set<number>>();
    let phase: Phase = "before";
    let sent = 0;
    let isOver = false;
    const owed: BalanceChanged[] = [];
    const attempt = async (event: BalanceChanged) => {
      const began = phase;
      const status = await deliver(url, event);
      // A request that spans two phases can have either status.
      if (began === phase) responses.set(phase, (responses.get(phase) ?? new Set()).add(status));
      if (status !== 204) owed.push(event);
      return status;
    };
    const sender = async () => {
      while (!isOver) {
        sent += 1;
        const status = await attempt(balanceChanged(`evt_${sent}`));
        if (status !== 204) await new Promise((resolve) => setTimeout(resolve, 20)); // about the time of an insert
      }
    };
    const senders = Array.from({ length: 8 }, sender);
    const until = (count: number) => new Promise<void>((resolve) => look(count, resolve));
    const look = (count: number, resolve: () => void) =>
      sent >= count ? resolve() : void setImmediate(look, count, resolve);
    await until(50);
    phase = "stopping";
    await cluster.stop();
    phase = "stopped";
    await new Promise((resolve) => setTimeout(resolve, outageMs)); // PostgreSQL cannot use a test clock
    phase = "starting";
    await cluster.start();
    phase = "after";
    await until(sent + 50);
    isOver = true;
    await Promise.all(senders);
    const missed = owed.length;
    expect(missed).toBeGreaterThan(8);
    // The service retries a delivery without a 2xx response.
    const again = async () => {
      for (let event = owed.pop(); event !== undefined; event = owed.pop()) await attempt(event);
    };
    await Promise.all(Array.from({ length: 16 }, again));

    expect(responses.get("before")).toEqual(new Set([204]));
    expect(responses.get("stopped")).toEqual(new Set([503]));
    for (const statuses of responses.values())
      expect([204, 503]).toEqual(expect.arrayContaining([...statuses]));
    const [stats] = await boss.getQueueStats("events", { force: true });
    expect(stats?.totalCount).toBe(sent);
    if (outageMs > 1_000)
      console.error(
        `${sent} events, ${missed} responded 503, none lost, ${outageMs / 1000} s without PostgreSQL`,
      );
  },
);

/** A disk of one megabyte; undefined where mounting is not allowed. */
function smallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "small-disk-"));
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  return folder;
}
/** One disk per engine, because an engine can keep its file open longer than its inbox. */
const disks = engines.map(([name, open]) => ({ name, open, disk: smallDisk() ?? "" }));
const mayMount = disks.every(({ disk }) => disk !== "");
if (!mayMount)
  console.error("SKIPPED: tests of a full disk, because mounting a small disk requires root.");
afterAll(() => {
  for (const { disk } of disks.filter((each) => each.disk !== "")) {
    spawnSync("umount", ["--lazy", disk]);
    rmSync(disk, { recursive: true, force: true });
  }
});

it.skipIf(!mayMount).each(disks)(
  "rejects events on a full disk, loses none, and recovers, with $name",
  async ({ disk: folder, open }) => {
    const recorded = recordOutcomes();
    const inbox = openInbox({
      file: join(folder, "inbox.db"),
      open,
      onOutcome: recorded.onOutcome,
    });
    const stored: string[] = [];
    await put(inbox, balanceChanged("evt_0"));
    stored.push("evt_0");
    writeFileSync(join(folder, "filler"), Buffer.alloc(600_000));

    let refusal: unknown;
    for (let index = 1; refusal === undefined && index < 5_000; index++) {
      try {
        await put(inbox, balanceChanged(`evt_${index}`));
        stored.push(`evt_${index}`);
      } catch (error) {
        refusal = error;
      }
    }
    expect(String(refusal)).toMatch(/full|disk/i);
    const url = await listening(inbox);
    expect(await deliver(url, balanceChanged("evt_late"))).toBe(503);

    rmSync(join(folder, "filler"));
    expect(await deliver(url, balanceChanged("evt_late"))).toBe(204);
    stored.push("evt_late");
    const kept = (await inbox.list({ limit: 10_000 })).map(({ id }) => id);
    expect(stored.filter((id) => !kept.includes(id))).toEqual([]);
    const handled = new Set<string>();
    inbox.work(({ id }) => void handled.add(id), { concurrency: 16 });
    await recorded.until("done", kept.length);
    expect([...handled].sort()).toEqual(kept.sort());
  },
);
