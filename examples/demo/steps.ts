/** Prints one line per step, with what happened and how long it took; the first step that fails ends the demo. */

export type Print = (line: string) => void;

/** Tells what happened, in a few words, and perhaps more below it. */
export interface Told {
  happened: string;
  below?: readonly string[];
}

export type Step = (name: string, act: () => Promise<Told>) => Promise<void>;

const nameWidth = 30;
const happenedWidth = 56;

export function stepsPrintedBy(print: Print, clockMs: () => number = () => performance.now()): Step {
  return async (name, act) => {
    const startedMs = clockMs();
    const timing = () => `${Math.round(clockMs() - startedMs)} ms`.padStart(7);
    try {
      const { happened, below = [] } = await act();
      print(`✓ ${name.padEnd(nameWidth)} ${happened.padEnd(happenedWidth)} ${timing()}`);
      for (const line of below) print(`    ${line}`);
    } catch (error) {
      print(`✗ ${name.padEnd(nameWidth)} ${messageOf(error).padEnd(happenedWidth)} ${timing()}`);
      throw error;
    }
  };
}

/** @throws {Error} naming what was expected: a step that only looks as if it happened is not one. */
export function ensure(claim: string, isTrue: boolean): void {
  if (!isTrue) throw new Error(`expected ${claim}`);
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
