/** Shrinks a failing history: removes what the failure does not need, until nothing more can be removed. */
import type { Images } from "./image.ts";
import { type Run, runHistory } from "./play.ts";
import type { History } from "./stage.ts";

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
  for (const change of simplifications(best.history)) await isShorter({ ...best.history, ...change });
  // First large parts of the actions, then smaller ones, then one at a time.
  for (let size = Math.ceil(best.history.actions.length / 2); size >= 1; size = Math.floor(size / 2)) {
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
