/** A service, and a folder with the files of an import. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder, openMock, type RunOptions, run as runCommand } from "./terminal.ts";

/** Options of an import into the template of the mock service. */
export const args = ["--template", "tpl_mock", "--privacy", "2026-01", "--yes"];
/** Passes the check, and the service rejects it. */
export const shortPhone = "+481234";

export const toPhone = (index: number) => `+48600${100_000 + index}`;
export const toRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index + 1},${toPhone(index)},Member ${index + 1}`);
export const toCsv = (rows: readonly string[]) =>
  `userId,phone,name\n${rows.map((row) => `${row}\n`).join("")}`;

/** `requests` are those that the service got. */
export async function openShop(files: Record<string, string | Uint8Array>) {
  const requests: string[] = [];
  const { url, env, service } = await openMock({
    templates: [{ id: "tpl_mock", name: "Bakery" }],
    onTraffic: (event) => {
      if (event.kind === "request") requests.push(`${event.method} ${event.path} ${event.status}`);
    },
  });
  const { LOYALTY_TEMPLATE_ID: _, ...own } = env;
  const folder = createFolder(files);
  const path = (name: string) => join(folder, name);
  return {
    ...{ folder, path, env: own, service, requests },
    read: (name: string) => readFileSync(path(name), "utf8"),
    run: (command: readonly string[], options: RunOptions = {}) =>
      runCommand(command, { cwd: folder, ...options, env: { ...own, ...options.env } }),
    async countCards() {
      const response = await fetch(`${url}/_mock/cards`);
      return ((await response.json()) as { total: number }).total;
    },
  };
}
