/** A service, and a folder with the files of an import. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MockServerOptions } from "@loyalty-cards/mock-server/node";
import { createFolder } from "@loyalty-cards/testing/resources";
import { openMock, type RunOptions, run as runCommand } from "./terminal.ts";

/** Options of an import into the template of the mock service. */
export const args = ["--template", "tpl_mock", "--privacy", "2026-01", "--yes"];
export const command = ["import", "members.csv", ...args];
/** Without `--yes`. */
export const asking = command.slice(0, -1);
/** Passes the check, and the service rejects it. */
export const shortPhone = "+481234";

export const toPhone = (index: number) => `+48600${100_000 + index}`;
export const toRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index + 1},${toPhone(index)},Member ${index + 1}`);
export const toCsv = (rows: readonly string[]) =>
  `userId,phone,name\n${rows.map((row) => `${row}\n`).join("")}`;

/**
 * @param list the rows of `members.csv`, or the files. `requests` are those that the service got.
 */
export async function openImportShop(
  list: string[] | Record<string, string | Uint8Array>,
  options: Pick<MockServerOptions, "storeRefusals"> = {},
) {
  const files = Array.isArray(list) ? { "members.csv": toCsv(list) } : list;
  const requests: string[] = [];
  const { url, env, service } = await openMock({
    ...options,
    templates: [{ id: "tpl_mock", name: "Bakery" }],
    onTraffic: (event) => {
      if (event.kind === "request") requests.push(`${event.method} ${event.path} ${event.status}`);
    },
  });
  const { LOYALTY_TEMPLATE_ID: _, ...own } = env;
  const folder = createFolder(files);
  const path = (name: string) => join(folder, name);
  const read = (name: string) => readFileSync(path(name), "utf8");
  const run = (line: readonly string[] = command, options: RunOptions = {}) =>
    runCommand(line, { cwd: folder, ...options, env: { ...own, ...options.env } });
  return {
    folder,
    path,
    read,
    run,
    env: own,
    service,
    requests,
    /** Stops after ten cards. */
    stopAfterTen: (more: readonly string[] = []) =>
      run([...asking, ...more], { isTTY: true, stdin: "n\n" }),
    /** The lines of a result below its header. */
    readLines: (name: string) => read(name).trimEnd().split("\n").slice(1),
    /** All that the service has stored, as text. */
    readStored: () =>
      JSON.stringify(service.snapshot(), (_key, value) =>
        value instanceof Map ? [...value] : value,
      ),
    async countCards() {
      const response = await fetch(`${url}/_mock/cards`);
      return ((await response.json()) as { total: number }).total;
    },
  };
}
