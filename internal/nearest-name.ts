/** Finds the name that was probably meant by a misspelling. */

/** The name nearest to `balance.change`, `balanceChanged` or `blance.changed`; undefined when none is near. */
export function findNearestName(text: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let nearestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = getEditDistance(simplify(text), simplify(name));
    if (distance > simplify(name).length / 3 || distance >= nearestDistance) continue;
    nearest = name;
    nearestDistance = distance;
  }
  return nearest;
}

const simplify = (name: string) =>
  name
    .slice(0, 50)
    .toLowerCase()
    .replace(/[^a-z]/g, "");

/** The number of letters to add, remove or replace (Levenshtein). */
function getEditDistance(from: string, to: string): number {
  let distances = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...from].entries()) {
    const next = [row + 1];
    for (let column = 0; column < to.length; column++) {
      const replaced = (distances[column] as number) + (letter === to[column] ? 0 : 1);
      next.push(Math.min(replaced, (distances[column + 1] as number) + 1, (next[column] as number) + 1));
    }
    distances = next;
  }
  return distances.at(-1) as number;
}
