/** What is asked for at once goes out together, and each one gets its own answer. */
import { expect, it } from "vitest";
import { grouping } from "../src/grouping.ts";

it("asks together for what comes at once and while others are under way", async () => {
  const questions: number[][] = [];
  const answers: (() => void)[] = [];
  const double = grouping(
    async (items: number[]) => {
      questions.push(items);
      await new Promise<void>((resolve) => answers.push(resolve));
      return items.map((item) => item * 2);
    },
    { atOnce: 1, most: 3 },
  );
  const first = [1, 2].map(double);
  await new Promise(setImmediate);
  const later = [3, 4, 5, 6].map(double);
  await new Promise(setImmediate);
  expect(questions).toEqual([[1, 2]]);
  answers[0]?.();
  expect(await Promise.all(first)).toEqual([2, 4]);
  await new Promise(setImmediate);
  answers[1]?.();
  await Promise.all(later.slice(0, 3));
  await new Promise(setImmediate);
  answers[2]?.();
  expect(await Promise.all(later)).toEqual([6, 8, 10, 12]);
  expect(questions).toEqual([[1, 2], [3, 4, 5], [6]]);
});

it("tells everybody of a question that failed, and asks again for the next", async () => {
  let isBroken = true;
  const ask = grouping(
    async (items: string[]) => {
      if (isBroken) throw new Error("gone");
      return items;
    },
    { atOnce: 2, most: 10 },
  );
  const results = await Promise.allSettled(["a", "b"].map(ask));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isBroken = false;
  expect(await ask("c")).toBe("c");
});
