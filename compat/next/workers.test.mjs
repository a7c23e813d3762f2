/** The Workers example with the packed packages, as a user installs it. */
import { it, onTestFinished } from "vitest";
import { installExample } from "./project.mjs";

it("compiles, and its tests pass in workerd", { timeout: 300_000 }, () => {
  const { run, remove } = installExample("workers");
  onTestFinished(remove);
  run("npm", ["run", "types"]);
  run("npm", ["test"]);
});
