/** What the landing page shows of other files, read at build time: the figures of the measurements, and a QR code. */
import { readFileSync } from "node:fs";
import { toQrPath } from "../../../internal/qr-code.ts";

const read = (page: string) => readFileSync(new URL(`../../${page}.md`, import.meta.url), "utf8");

/** Returns the first capture of a pattern. @throws when a page no longer has that row: choose another figure. */
function find(page: string, pattern: RegExp): string {
  const figure = pattern.exec(read(page))?.[1];
  if (figure === undefined)
    throw new Error(`docs/${page}.md has no row like ${pattern}, which the landing page quotes`);
  return figure;
}

export interface LandingData {
  lostEvents: string;
  lostCards: string;
  vectors: string;
  cost: string;
  qrCode: { size: number; path: string };
}

export declare const data: LandingData;

export default {
  watch: ["../../measurements.md", "../../benchmarks.md"],
  load: (): LandingData => ({
    lostEvents: find(
      "measurements",
      /^\| 5 000 events, 200 kills: events lost or applied twice \| (\d+) on each engine \|/m,
    ),
    lostCards: find(
      "measurements",
      /^\| 8 000 sign-ups on four shops, each sent once, 800 kills: users without a card, second cards \| (\d+), 0 \|/m,
    ),
    vectors: find("measurements", /^\| signature vectors passed \| (\d+ of \d+) on seven runtimes \|/m),
    // The first table of that section: processor time per call, on Node 20.
    cost: find("benchmarks", /^\| \*\*issueCard\*\* \| ([\d.]+ ×) /m),
    qrCode: toQrPath("https://loyalty-cards.github.io/loyalty-cards/"),
  }),
};
