/**
 * The rows cover docs/assumptions.md. The first service of each assumption runs; in the project
 * `slow`, which sets UNKNOWN_SERVICE to `all`, all of them.
 */
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { expect, it } from "vitest";
import { checkClient } from "./client-calls.ts";
import { listServices } from "./hostile-service.ts";
import { checkReceiver } from "./receiver-deliveries.ts";
import { cardRows } from "./rows/cards.ts";
import { deliveryRows } from "./rows/deliveries.ts";
import { errorRows } from "./rows/errors.ts";
import { eventRows } from "./rows/events.ts";
import { keyRows } from "./rows/keys.ts";
import { readRows } from "./rows/reads.ts";
import { signUpRows } from "./rows/sign-ups.ts";

const page = readFileSync(new URL("../../docs/assumptions.md", import.meta.url), "utf8");
const assumptions = [...page.matchAll(/^### ([\w-]+)$/gm)].map(([, name]) => name);

interface Service {
  assumption: string;
  title: string;
  check(): Promise<string[]>;
}

const clientServices = [cardRows, signUpRows, keyRows, readRows, errorRows]
  .flatMap((table) => Object.entries(table))
  .flatMap(([assumption, rows]) => rows.map((row) => ({ assumption, ...row })))
  .flatMap(({ assumption, change, expect }): Service[] =>
    listServices(change).map((respond, index) => ({
      assumption,
      title: `${inspect(change)} (${index + 1})`,
      check: () => checkClient(respond, expect),
    })),
  );
const deliveringServices = [eventRows, deliveryRows]
  .flatMap((table) => Object.entries(table))
  .flatMap(([assumption, rows]): Service[] =>
    rows.map((row) => ({
      assumption,
      title: inspect(row.change),
      check: () => checkReceiver(row),
    })),
  );
const services = [...clientServices, ...deliveringServices];

const runsAll = process.env["UNKNOWN_SERVICE"] === "all";
const chosen = services.filter(({ assumption }, index) => {
  const isFirst = services.findIndex((one) => one.assumption === assumption) === index;
  return runsAll || isFirst;
});

it("has services for each assumption, and for nothing else", () => {
  const names = new Set(services.map(({ assumption }) => assumption));
  expect([...names].sort()).toEqual(assumptions.sort());
});

// G16
it.each(chosen)(
  "the client and the receiver survive another $assumption: $title",
  async ({ check }) => {
    expect(await check()).toEqual([]);
  },
);
