/**
 * Plays a history: its actions happen, the troubles end, everything that is due is done, and the
 * guarantees are checked. A failing one is shrunk.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { act } from "./actions.ts";
import { check, type Violation } from "./checks.ts";
import type { Images } from "./image.ts";
import { type History, type Stage, setUp } from "./stage.ts";
import { startMs, type World } from "./world.ts";

export interface Run {
  history: History;
  world: World;
  violations: Violation[];
}

const hour = 3_600_000;
const folders = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export async function runHistory(history: History, images: Images): Promise<Run> {
  const folder = mkdtempSync(join(folders, "simulation-"));
  const stage = await setUp(history, images, folder);
  const { network, world, shopMachine, booksMachine } = stage;
  try {
    for (const action of history.actions) world.after(action.atMs, () => act(stage, action));
    world.after(1, () => {
      network.badness = history.badness;
    });
    await world.runUntil(history.endMs);
    await finish(stage);
    return { history, world, violations: check(stage) };
  } finally {
    for (const machine of [shopMachine, booksMachine]) machine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ends the troubles, and runs the history until nothing is due. */
async function finish(stage: Stage): Promise<void> {
  const { network, shopMachine, shown, shops, books, world } = stage;
  world.log("world", "the troubles end");
  network.badness = 0;
  shown.isDown = false;
  Object.assign(shopMachine, { isDiskFull: false, isFileLocked: false });
  // A clock that was set back stays wrong for an hour: nothing may wait for it.
  shopMachine.clockErrorMs = Math.min(0, shopMachine.clockErrorMs);
  const endedMs = world.nowMs;
  for (const process of [...shops, ...books]) process.effectsToLive = Number.POSITIVE_INFINITY;
  const running = network.processes.filter(({ isAlive }) => isAlive);
  await world.runUntil(world.nowMs + Math.max(...running.map(({ frozenMs }) => frozenMs)));
  if (shopMachine.clockErrorMs < 0 && !network.isResponseLost) {
    // What waits now is tried within the longest delay, also by a clock that was set back.
    await world.runUntil(stage.awakeAtMs);
    const waitingBefore = readWaiting(stage);
    await skip(stage, 16 * 60_000);
    await world.runUntil(world.nowMs + 60_000);
    stage.delayed = readWaiting(stage).filter((row) => waitingBefore.includes(row));
  }
  const lastMs = world.nowMs + 14 * 24 * hour; // what is due later is never done
  for (let round = 0; round < 400 && !stage.isSettled && world.nowMs < lastMs; round++) {
    await world.runUntil(Math.max(world.nowMs + 3_000, stage.awakeAtMs));
    if (world.nowMs > endedMs + hour) shopMachine.clockErrorMs = 0;
    const dueMs = findNextDue(stage);
    stage.isSettled =
      dueMs === undefined &&
      world.nowMs > network.lastArrivalMs &&
      shops.every(({ isAlive }) => isAlive);
    // Nothing happens until then, except that the processes look for work each second: they are
    // stopped meanwhile.
    const pauseMs = Math.min(dueMs ?? 0, lastMs) - world.nowMs - 1_000;
    if (pauseMs > 3_000) await skip(stage, pauseMs);
  }
  stage.isOver = true;
  for (const process of network.processes) process.end("ends with the history");
}

/** Lets time go on while all processes except the service are stopped. */
async function skip({ network, world }: Stage, ms: number): Promise<void> {
  for (const process of network.processes) if (process.name !== "service") process.freeze(ms);
  await world.runUntil(world.nowMs + ms);
}

/** The entries that wait, and for when. */
const readWaiting = ({ shopMachine }: Stage) =>
  shopMachine
    .readRows("SELECT name, due FROM issuing_outbox_entries WHERE rank IS NOT NULL")
    .map(({ name, due }) => `${name} due ${new Date(Number(due)).toISOString()}`);

/**
 * When the next delivery, event or card is due, in the time of the world; undefined when nothing is
 * left to do.
 */
function findNextDue({ service, shopMachine, booksMachine, world }: Stage): number | undefined {
  const event = "SELECT due FROM webhook_inbox_events WHERE state = 'waiting'";
  const card = `SELECT max(due, coalesce((SELECT max(due) FROM issuing_outbox_entries_breakers), 0)) AS due
    FROM issuing_outbox_entries WHERE rank IS NOT NULL`;
  const dueInShop = [card, event]
    .flatMap((sql) => shopMachine.readRows(sql))
    .map(({ due }) => Number(due));
  const deliveries = service.webhooks.deliveries({ state: "pending" });
  const dueAt = [
    ...dueInShop.map((due) => due - shopMachine.clockErrorMs),
    ...booksMachine.readRows(event).map(({ due }) => Number(due)),
    ...deliveries.map(({ nextAttemptAt = "" }) => Date.parse(nextAttemptAt)),
  ];
  return dueAt.length === 0 ? undefined : Math.max(world.nowMs, Math.min(...dueAt) - startMs);
}

/** @returns the shortest history that was found which breaks the same guarantee, as it ran. */
export async function shrink(failing: Run, images: Images, maxRuns = 300): Promise<Run> {
  const guarantee = failing.violations[0]?.guarantee;
  let best = failing;
  let runs = 0;
  const isShorter = async (history: History): Promise<boolean> => {
    if (runs++ >= maxRuns) return false;
    const run = await runHistory(history, images);
    if (!run.violations.some((violation) => violation.guarantee === guarantee)) return false;
    best = run;
    return true;
  };
  for (const change of simplifications(best.history))
    await isShorter({ ...best.history, ...change });
  // First large parts of the actions, then smaller ones, then one at a time.
  for (
    let size = Math.ceil(best.history.actions.length / 2);
    size >= 1;
    size = Math.floor(size / 2)
  ) {
    for (let start = 0; start < best.history.actions.length; ) {
      const { actions } = best.history;
      const rest = [...actions.slice(0, start), ...actions.slice(start + size)];
      if (!(await isShorter({ ...best.history, actions: rest }))) start += size;
    }
  }
  return best;
}

const simplifications = (history: History): Partial<History>[] => [
  { badness: 0 },
  { processes: 1 },
  ...history.alternatives.map((name) => ({
    alternatives: history.alternatives.filter((other) => other !== name),
  })),
  { alternatives: [] },
];
