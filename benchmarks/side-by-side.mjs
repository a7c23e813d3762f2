/** Measures calls side by side in one process: what each costs as a ratio to a floor that is measured before and after it. */

const concurrency = 32;

/**
 * @param floor what everything is compared with.
 * @param subjects functions that make one call.
 * @returns the floor's median in microseconds per call, and for each subject the median of its ratios to the floor.
 */
export async function sideBySide({ floor, subjects, calls, rounds }) {
  for (const subject of [floor, ...Object.values(subjects)]) await microsecondsPerCall(subject, calls); // warm
  const ratios = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  const floors = [await microsecondsPerCall(floor, calls)];
  for (let round = 0; round < rounds; round++) {
    for (const [name, subject] of shuffled(Object.entries(subjects))) {
      // Between two runs of the floor, so that a machine that slows down slows both.
      const own = await microsecondsPerCall(subject, calls);
      floors.push(await microsecondsPerCall(floor, calls));
      ratios[name].push((2 * own) / (floors.at(-2) + floors.at(-1)));
    }
  }
  return {
    floorMicroseconds: median(floors),
    ratios: Object.entries(ratios).map(([name, ofRounds]) => ({ name, ratio: median(ofRounds) })),
  };
}

async function microsecondsPerCall(subject, calls) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await subject();
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: concurrency }, caller));
  return ((performance.now() - startedMs) / calls) * 1000;
}

export function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/** In another order each round, so that nobody always comes after the same one. */
export function shuffled(list) {
  const rest = [...list];
  return list.map(() => rest.splice(Math.floor(Math.random() * rest.length), 1)[0]);
}
