/**
 * `npm run types`: the whole repository compiles, with what the files `types.test-d.ts` assert
 * about the types. TypeScript 7 checks them in a fifth of the processor time; tools that call the
 * compiler, such as tsup, need 5.9.
 */
import { exec } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { root } from "../../../run.ts";

it("every file compiles, and the public types are those that types.test-d.ts assert", async () => {
  const running = promisify(exec)("npm run --silent types", { cwd: root, maxBuffer: 2 ** 26 });
  const result = await running.catch(({ code, stdout, stderr }) => ({ code, stdout, stderr }));
  expect(result).toEqual({ stdout: "", stderr: "" });
}, 600_000); // on a busy machine
