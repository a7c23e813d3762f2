import { describe, expect, it } from "vitest";
import { findIncreases } from "../sizes.ts";

describe("findIncreases", () => {
  const expected = { "import client": { files: 6, bytes: 1_000 } };

  it("accepts equal and smaller figures, and an increase within the tolerance", () => {
    expect(findIncreases(expected, { "import client": { files: 6, bytes: 1_020 } })).toEqual([]);
    expect(findIncreases(expected, { "import client": { files: 0, bytes: 10 } })).toEqual([]);
  });

  it("names each figure that increased, what it was and what it is", () => {
    expect(findIncreases(expected, { "import client": { files: 7, bytes: 1_021 } })).toEqual([
      "import client: files 6 → 7",
      "import client: bytes 1000 → 1021",
    ]);
  });

  it("names figures that are not expected yet", () => {
    expect(findIncreases(expected, { "import bulk": { files: 1 } })).toEqual([
      "import bulk: files not in tools/checks/sizes.json → 1",
    ]);
  });
});
