/** The comparison of a verifier's output with the signature vectors reports every disagreement. */
import { expect, it } from "vitest";
import { findDisagreements } from "../other-languages.ts";

const vectors = [
  { name: "a ping", verdict: "valid" },
  { name: "no header", verdict: "invalid", reason: "missing-signature" },
];

it("accepts a line with verdict, reason and name for each vector", () => {
  const output = "valid\t-\ta ping\ninvalid\tmissing-signature\tno header\n";
  expect(findDisagreements(vectors, output)).toEqual([]);
});

it.each([
  [
    "another verdict",
    "invalid\tmismatch\ta ping\ninvalid\tmissing-signature\tno header\n",
    /"a ping" must be valid/,
  ],
  [
    "another reason",
    "valid\t-\ta ping\ninvalid\tmismatch\tno header\n",
    /"no header" must be invalid \(missing-/,
  ],
  ["a missing line", "valid\t-\ta ping\n", /"no header" must be .*printed: nothing/],
  ["no output", "", /"a ping" must be valid/],
])("reports %s", (_name, output, message) => {
  expect(findDisagreements(vectors, output)[0]).toMatch(message);
});

it("reports an additional line", () => {
  const output = "valid\t-\ta ping\ninvalid\tmissing-signature\tno header\nvalid\t-\tanother\n";
  expect(findDisagreements(vectors, output)).toEqual(["3 lines for 2 vectors"]);
});
