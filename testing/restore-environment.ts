/**
 * Setup of test files, which share a process: what a file sets in the environment ends with the
 * file.
 */
import { afterAll } from "vitest";

const before = { ...process.env };

afterAll(() => {
  for (const name of Object.keys(process.env))
    if (!Object.hasOwn(before, name)) delete process.env[name];
  Object.assign(process.env, before);
});
