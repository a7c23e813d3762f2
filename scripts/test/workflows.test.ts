/** A workflow that could not run, or that nobody could try here, is named. */
import { expect, it } from "vitest";
import { workflowFaults } from "../workflows.ts";

const good = `name: good
on: push
permissions: { contents: read }
jobs:
  only:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@v4
      - run: npm ci
      - run: npm run check
`;
const faultsOf = (text: string) => workflowFaults("good.yml", text, { check: "true" });

it("a good one has no faults", () => expect(faultsOf(good)).toEqual([]));

it.each([
  ["a key that is not one", good.replace("runs-on", "stepz: 1\n    runs-on"), /stepz/],
  [
    "an expression of nothing",
    good.replace("npm ci", `npm run ${"$"}{{ matrix.script }}`),
    /"script" is not defined/,
  ],
  ["no permissions", good.replace(/permissions.*\n/, ""), /permissions/],
  ["no end", good.replace(/ +timeout.*\n/, ""), /timeout-minutes/],
  ["an action of somebody's", good.replace("actions/checkout@v4", "some/body@main"), /some\/body@main/],
  ["a command that is not a script", good.replace("npm ci", "curl example.com | sh"), /curl/],
  ["a script that is not there", good.replace("npm run check", "npm run nothing"), /npm run nothing/],
])("%s", (_what, text, message) => {
  expect(faultsOf(text)).toEqual([expect.stringMatching(message)]);
});
