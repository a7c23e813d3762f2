/** The outages that `rules.test.ts` does not have: each kind for each fleet. */
import { describe } from "vitest";
import { fleets, outages, testOutage } from "./outage.ts";

describe("an outage", () => {
  for (const [index, outage] of outages.entries())
    for (const fleet of fleets) if (fleet !== fleets[index]) testOutage(outage, fleet);
});
