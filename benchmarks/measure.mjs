/** Measures calls as ratios to a baseline in the same process; medians, and the memory and time of a process. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

export const concurrency = 32;

/**
 * Each subject is measured between two runs of the baseline.
 * @param baseline the call that the subjects are compared with.
 * @param subjects functions that make one call.
 * @returns the baseline's median in microseconds per call, and for each subject the median of its ratios: by wall time, and by
 * processor time of this process, which is more reliable on a busy machine.
 */
export async function sideBySide({ baseline, subjects, calls, rounds }) {
  for (const subject of [baseline, ...Object.values(subjects)]) await costPerCall(subject, calls); // warm
  const costs = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  const baselines = [await costPerCall(baseline, calls)];
  for (let round = 0; round < rounds; round++) {
    for (const [name, subject] of shuffled(Object.entries(subjects))) {
      // A machine that slows down slows the baseline, too.
      const own = await costPerCall(subject, calls);
      baselines.push(await costPerCall(baseline, calls));
      const [before, after] = baselines.slice(-2);
      costs[name].push({
        ratio: (2 * own.time) / (before.time + after.time),
        processorRatio: (2 * own.processor) / (before.processor + after.processor),
      });
    }
  }
  return {
    baselineMicroseconds: median(baselines.map(({ time }) => time)),
    ratios: Object.entries(costs).map(([name, ofRounds]) => ({
      name,
      ratio: median(ofRounds.map(({ ratio }) => ratio)),
      processorRatio: median(ofRounds.map(({ processorRatio }) => processorRatio)),
    })),
  };
}

/**
 * Runs a benchmark in several processes, one after another: compilation differs between processes by up to a sixth.
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

/** The median of several figures, the smallest and the largest. */
export function spread(figures) {
  const [middle, smallest, largest] = [median(figures), Math.min(...figures), Math.max(...figures)];
  return `${middle.toFixed(2)} (${smallest.toFixed(2)}–${largest.toFixed(2)})`;
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

/** In random order, so that no subject always runs after the same one. */
export function shuffled(list) {
  const rest = [...list];
  return Array.from(
    { length: rest.length },
    () => rest.splice(Math.floor(Math.random() * rest.length), 1)[0],
  );
}

/** Linux only: the resident memory of a process. */
export function residentMiB(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Linux only: the processor time of a process, user and system. */
export function processorSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
