/** Runs the commands of the guide, and compares what they print with the file that the guide quotes (`-u` updates them). */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type MockServer, startMockServer } from "@loyalty-cards/mock-server/node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readRegion } from "../../tools/docs/snippets.ts";

const commands = readFileSync(new URL("commands.sh", import.meta.url), "utf8");
const bin = fileURLToPath(
  new URL("../../packages/cli/src/bin.ts", import.meta.url),
);
const folder = mkdtempSync(join(tmpdir(), "command-line-"));

let mock: MockServer;
let cardId = "";
beforeAll(async () => {
  // In the place of npx and of the installed command.
  const program = `exec node --conditions=@loyalty-cards/source --import ${import.meta.resolve("tsx")} ${JSON.stringify(bin)}`;
  writeFileSync(join(folder, "npx"), `#!/bin/bash\nshift\n${program} "$@"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(folder, "loyalty-cards"), `#!/bin/bash\n${program} "$@"\n`, {
    mode: 0o755,
  });
  mock = await startMockServer({
    templates: [{ id: "tpl_bakery", name: "Bakery" }],
  });
  const { stdout } = await run("script", "cat card.json");
  cardId = JSON.parse(stdout).id;
  mock.service.cards.purchase(cardId, { points: 120 });
  mock.service.cards.redeem(cardId, { points: 30 });
});
afterAll(async () => {
  await mock.close();
  rmSync(folder, { recursive: true });
});

/** Runs a region, and then another command in the same shell. */
function run(
  region: string,
  then = "",
): Promise<{ stdout: string; stderr: string }> {
  const program = readRegion(commands, "commands.sh", region).replaceAll(
    "card_8sT2kq",
    cardId,
  );
  return promisify(execFile)("bash", ["-ec", `${program}\n${then}`], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${folder}${delimiter}${process.env["PATH"]}`,
      LOYALTY_URL: mock.url,
      LOYALTY_API_KEY: mock.service.apiKeys.website,
      LOYALTY_TEMPLATE_ID: "tpl_bakery",
    },
  });
}

/** Addresses, ids and times as in the guide. */
const normalize = (text: string) =>
  text
    .replaceAll(mock.url, "https://cards.example.com")
    .replace(/\bcard_\w{16}\b/g, "card_8sT2kq")
    .replace(/\bcus_\w{16}\b/g, "cus_3vPq81")
    .replace(/\/cards\/\w+/g, "/cards/8sT2kq")
    .replace(/-30( .*)op_\w{16}/, "-30$1op_4bN1xe")
    .replace(/120( .*)op_\w{16}/, "120$1op_0tRm5c")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-22T10:15:00.000Z")
    .replace(/in \d+ ms/g, "in 41 ms");

/** The regions of the file that the guide quotes. */
const recorded: string[] = [];
const record = (region: string, text: string) =>
  void recorded.push(`# #region ${region}\n${text.trimEnd()}\n# #endregion\n`);

it.each(["doctor", "dry-run", "issue", "operations", "consent", "purchase"])(
  "runs %s",
  async (region) => {
    record(region, normalize((await run(region)).stdout));
  },
);

it("imports a list, and a row that was corrected, as the guide shows", async () => {
  copyFileSync(
    new URL("members.csv", import.meta.url),
    join(folder, "members.csv"),
  );
  const check = await run("import-check", "").catch(
    (error: { code: number; stdout: string }) => error,
  );
  expect(check).toMatchObject({ code: 1 });
  record("import-check", check.stdout);
  const imported = await run("import").catch(
    (error: { code: number; stdout: string }) => error,
  );
  expect(imported).toMatchObject({ code: 1 });
  record("import", imported.stdout.replace(/in \d+ s/, "in 1 s"));

  const list = join(folder, "members.csv");
  writeFileSync(
    list,
    readFileSync(list, "utf8").replace("4.86E+10", "+48600100302"),
  );
  const again = await run("import").catch((error: { stdout: string }) => error);
  expect(again.stdout).toMatch(/\n {2}issued +3 .*\n {2}rejected +2 /);
});

it("prints a QR code after the card", async () => {
  expect((await run("card")).stdout).toMatch(/^Card .*\n\n█{33}/s);
});

it("prints what the guide quotes", async () => {
  await expect(recorded.join("\n")).toMatchFileSnapshot("commands.output.txt");
});
