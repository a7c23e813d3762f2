/** The demo succeeds only if every step succeeded. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { findLine } from "../getting-started/shell.ts";
import { runDemo } from "./demo.ts";

it("succeeds and prints each step with its time, in 80 columns and at most 20 lines, without addresses", async () => {
  const lines: string[] = [];
  expect(await runDemo((line) => lines.push(line))).toBe(true);
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(lines.filter((line) => line.length > 80 || line.includes("http"))).toEqual(
    [],
  );
  expect(
    lines
      .filter((line) => /^[✓✗]/u.test(line))
      .map((line) => line.replace(/ +\d+ ms$/, "")),
  ).toEqual([
    "✓ The shop opens",
    "✓ Anna signs up",
    "✓ Ben signs up, and the response to the shop is lost",
    "✓ A visitor omits the name",
    "✓ The shop records a purchase",
    "✓ The signed webhook arrives",
    "✓ An attacker changes that delivery",
  ]);
  expect(
    lines
      .filter((line) => line.startsWith("✓"))
      .every((line) => / \d+ ms$/.test(line) && line.length === 80),
  ).toBe(true);
});

it("fails at the step whose webhook was lost", async () => {
  const lines: string[] = [];
  const lost = () => new Response(null, { status: 204 });
  expect(await runDemo((line) => lines.push(line), { deliver: lost })).toBe(false);
  expect(lines.slice(-2)).toEqual([
    expect.stringMatching(/^✗ The signed webhook arrives +\d+ ms$/u),
    "    expected a balance of 120 in the shop",
  ]);
});

it("fails when no card can be issued", async () => {
  const lines: string[] = [];
  const templates = [{ id: "tpl_other", name: "Other" }];
  expect(await runDemo((line) => lines.push(line), { templates })).toBe(false);
  expect(lines.slice(-2)).toEqual([
    expect.stringMatching(/^✗ Anna signs up /u),
    "    expected 201",
  ]);
});

it("leaves the shop and the service running with --keep, so that the printed links open, until Ctrl-C", async () => {
  const program = fileURLToPath(new URL("main.ts", import.meta.url));
  const flags = [
    "--conditions=@loyalty-cards/source",
    "--import",
    import.meta.resolve("tsx"),
  ];
  const child = spawn(process.execPath, [...flags, program, "--keep"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = await findLine(child, /^[\s\S]*\(record a purchase\)\n/);
  const links = [...text.matchAll(/http:\/\/127\S+/g)].map(([link]) => link);
  expect(links).toHaveLength(5);
  for (const link of links) {
    const response = await fetch(link, { redirect: "manual" });
    expect([link, response.status < 400]).toEqual([link, true]);
    await response.body?.cancel();
  }

  const shop = /shop +(\S+\/)/.exec(text)?.[1] ?? "";
  const getHome = async () => (await fetch(shop)).text();
  expect(await getHome()).toMatch(
    /<h3>Anna Kowalska<\/h3><a href="http[^"]+\/cards\/\w+">Card.+<\/div>\s*<p class="balance"><strong>120<\/strong> points<\/p>/,
  );
  const mock = /console +(\S+)\/console/.exec(text)?.[1] ?? "";
  const cleo = {
    name: "<b>Cleo</b>",
    email: "cleo@example.com",
    phone: "600100202",
  };
  const signUp = async (form: object) =>
    (
      await fetch(`${shop}sign-up`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(form),
      })
    ).status;
  expect(await signUp(cleo)).toBe(422);
  expect(await signUp({ ...cleo, privacy: "2025-01" })).toBe(422);
  expect(await getHome()).not.toContain("Cleo");
  expect(await signUp({ ...cleo, privacy: "2026-01" })).toBe(201);
  const cards = await fetch(`${mock}/_mock/cards?query=cleo`);
  expect(await cards.json()).toMatchObject({
    items: [{ customer: { privacyVersion: "2026-01" } }],
  });
  expect(await getHome()).toContain('<h3>&lt;b&gt;Cleo&lt;/b&gt;</h3><a href="');

  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([0, null]);
  await expect(fetch(shop)).rejects.toThrow();
});
