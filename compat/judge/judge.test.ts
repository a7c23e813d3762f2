/** The judge's exit codes and messages, and two planted mistakes; `npm run compat -- judge` runs all of them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { judgeMistake } from "./integrations.ts";
import { checks } from "./judge.ts";
import { copyExample, mistakes, plant } from "./mistakes.ts";
import { readSettings, type SettingsError } from "./settings.ts";
import { openShop } from "./shop.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const flags = `--conditions=@loyalty-cards/source --import ${import.meta.resolve("tsx")}`;

function run(...args: string[]) {
  return spawnSync(process.execPath, ["compat/judge/main.ts", ...args], {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: flags },
    encoding: "utf8",
  });
}

function createFolder(settings: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "judge-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "judge.json"), JSON.stringify(settings));
  return folder;
}

const settings = {
  start: "echo no database; exit 3",
  signUp: { path: "/sign-up", fields: { email: "{email}" } },
  receiver: "/webhooks",
  members: { path: "/members" },
};

it("exits with 2 for an unknown name of a check", () => {
  const { status, stderr } = run(createFolder(settings), "--only", "sing-up");
  expect(status).toBe(2);
  expect(stderr).toContain('Unknown check "sing-up". The checks are sign-up,');
});

it("exits with 0 when the checks pass, and prints JSON", () => {
  const { folder, remove } = copyExample("express");
  onTestFinished(remove);
  const { status, stdout } = run(folder, "--json", "--only", "sign-up", "--only", "secrets");
  expect(JSON.parse(stdout)).toMatchObject({
    passed: true,
    results: [{ name: "sign-up" }, { name: "secrets" }],
  });
  expect(status).toBe(0);
});

it("exits with 1 when a check fails, and says what to change", () => {
  const mistake = mistakes.find(({ foundBy }) => foundBy === "secrets");
  if (mistake === undefined) throw new Error("There is no such mistake.");
  const { folder, remove } = plant(mistake);
  onTestFinished(remove);
  const { status, stdout } = run(folder, "--only", "sign-up", "--only", "secrets");
  expect(stdout).toMatch(
    /✓ sign-up: .*\n✗ secrets: .*\n {4}the API key is in the response to POST \/sign-up\n {4}Keep both/,
  );
  expect(status).toBe(1);
});

it("exits with 2 and the last lines of a program that does not start", () => {
  const { status, stderr } = run(createFolder(settings));
  expect(stderr).toContain('"echo no database; exit 3" ended. Its last lines:\nno database');
  expect(status).toBe(2);
});

it.each([
  [{ ...settings, start: undefined }, 'judge.json has no member "start".'],
  [{ ...settings, receiver: "webhooks" }, '"receiver" in judge.json must begin with "/".'],
  [
    { ...settings, port: 3000 },
    'judge.json has an unknown member "port". It can have signUp, members, correction, ',
  ],
  [{ ...settings, members: [] }, "members must be an object."],
  [
    { ...settings, signUp: { path: "/", fields: { name: "{name}" } } },
    "signUp.fields needs a field with {email}",
  ],
  [{ ...settings, signUp: { ...settings.signUp, type: "xml" } }, "must be one of json, form, multipart."],
  [{ ...settings, recoverySeconds: 0 }, "recoverySeconds must be a number"],
])("names the member that is wrong: %j", (wrong, message) => {
  const folder = createFolder(wrong);
  let error: SettingsError | undefined;
  try {
    readSettings(folder);
  } catch (thrown) {
    error = thrown as SettingsError;
  }
  expect(error?.message).toContain(message);
});

it.each(mistakes.filter(({ foundBy }) => ["rejected-form", "forms-at-once"].includes(foundBy)))(
  "finds that $name",
  async (mistake) => {
    const failed = (await judgeMistake(mistake)).filter(({ passed }) => !passed);
    expect(failed).toMatchObject([{ name: mistake.foundBy }]);
  },
);

it("opens a page again that did not load, and sends two forms of one page", async () => {
  const folder = createFolder({
    ...settings,
    start: "node shop.mjs",
    signUp: { path: "/join", page: "/join", type: "form", fields: { email: "{email}" } },
  });
  writeFileSync(
    join(folder, "shop.mjs"),
    `import { createServer } from "node:http";
    import { text } from "node:stream/consumers";
    let views = 0;
    createServer(async (request, response) => {
      if (request.method === "POST") response.end(await text(request));
      else if ((views += 1) === 1) request.socket.destroy();
      else response.end(\`<form><input type="hidden" name="view" value="\${views}"></form>\`);
    }).listen(Number(process.env.PORT));`,
  );
  const shop = await openShop(folder, readSettings(folder), {});
  onTestFinished(shop.close);
  const visitor = shop.createVisitor();
  expect(await shop.submit(visitor)).toEqual({ text: "" });
  const replies = await Promise.all([shop.submit(visitor), shop.submit(visitor)]);
  const views = replies.map(({ text }) => new URLSearchParams(text).get("view"));
  expect(views[0]).toMatch(/^[23]$/);
  expect(views[1]).toBe(views[0]);
});

it("is described in the guide, check by check", () => {
  const guide = readFileSync(join(root, "docs/guides/testing.md"), "utf8");
  expect(guide).toContain(checks.map(({ name, title }) => `| \`${name}\` | ${title} |\n`).join(""));
});

it("has a mistake for every check but the first and the last", () => {
  const found = new Set(mistakes.map(({ foundBy }) => foundBy));
  expect(checks.map(({ name }) => name).filter((name) => !found.has(name))).toEqual([
    "sign-up",
    "later-cards",
  ]);
});
