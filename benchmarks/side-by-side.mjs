/** Measures calls side by side in one process: what each costs as a ratio to a floor that is measured before and after it. */
import { fork } from "node:child_process";
import { once } from "node:events";

export const concurrency = 32;

/**
 * @param floor what everything is compared with.
 * @param subjects functions that make one call.
 * @returns the floor's median in microseconds per call, and for each subject the median of its ratios to the floor: by the
 * clock, and by the processor time of this process, which says more while others use the machine.
 */
export async function sideBySide({ floor, subjects, calls, rounds }) {
  for (const subject of [floor, ...Object.values(subjects)]) await costPerCall(subject, calls); // warm
  const costs = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  const floors = [await costPerCall(floor, calls)];
  for (let round = 0; round < rounds; round++) {
    for (const [name, subject] of shuffled(Object.entries(subjects))) {
      // Between two runs of the floor, so that a machine that slows down slows both.
      const own = await costPerCall(subject, calls);
      floors.push(await costPerCall(floor, calls));
      const [before, after] = floors.slice(-2);
      costs[name].push({
        ratio: (2 * own.time) / (before.time + after.time),
        processorRatio: (2 * own.processor) / (before.processor + after.processor),
      });
    }
  }
  return {
    floorMicroseconds: median(floors.map(({ time }) => time)),
    ratios: Object.entries(costs).map(([name, ofRounds]) => ({
      name,
      ratio: median(ofRounds.map(({ ratio }) => ratio)),
      processorRatio: median(ofRounds.map(({ processorRatio }) => processorRatio)),
    })),
  };
}

/**
 * Runs a benchmark in several processes, one after another: how each compiles and places things differs by chance, by up to a
 * sixth.
 * @param file the benchmark, which sends its result when it is a child.
 * @returns the results.
 */
export async function inProcesses(file, count, args = []) {
  const results = [];
  for (let i = 0; i < count; i++) {
    const [result] = await once(fork(file, args), "message");
    results.push(result);
  }
  return results;
}

/** The median of several figures, and the least and the most. */
export function spread(figures) {
  const [middle, least, most] = [median(figures), Math.min(...figures), Math.max(...figures)];
  return `${middle.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}

/** In microseconds. */
async function costPerCall(subject, calls) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await subject();
  };
  const startedMs = performance.now();
  const started = process.cpuUsage();
  await Promise.all(Array.from({ length: concurrency }, caller));
  const { user, system } = process.cpuUsage(started);
  return { time: ((performance.now() - startedMs) / calls) * 1000, processor: (user + system) / calls };
}

export function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/** In another order each round, so that nobody always comes after the same one. */
export function shuffled(list) {
  const rest = [...list];
  return Array.from(
    { length: rest.length },
    () => rest.splice(Math.floor(Math.random() * rest.length), 1)[0],
  );
}
