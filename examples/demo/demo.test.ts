/** The demo prints its steps, and leaves the shop open if it is asked to. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { findLine, fromSource } from "../commands/shell.ts";
import { runDemo } from "./demo.ts";

it("succeeds and prints each step with its time, in 80 columns and at most 20 lines, without addresses", async () => {
  const lines: string[] = [];
  expect(await runDemo((line) => lines.push(line))).toBe(true);
  expect(lines.length).toBeLessThanOrEqual(20);
  const wrong = lines.filter((line) => line.length > 80 || line.includes("http"));
  expect(wrong).toEqual([]);
  const steps = lines.filter((line) => line.startsWith("✓"));
  expect(steps.filter((line) => !/^(?=.{80}$).* \d+ ms$/.test(line))).toEqual([]);
  expect(steps.map((line) => line.replace(/ +\d+ ms$/, ""))).toEqual([
    "✓ The shop opens",
    "✓ Anna signs up",
    "✓ Ben signs up, and the response to the shop is lost",
    "✓ A visitor omits the name",
    "✓ The shop records a purchase",
    "✓ The signed webhook arrives",
    "✓ An attacker changes that delivery",
  ]);
});

it("leaves the shop and the service running with --keep, so that the printed links open, until Ctrl-C", async () => {
  const program = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(process.execPath, [...fromSource, program, "--keep"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = await findLine(child, /^[\s\S]*\/users\/\S+\n/);
  const links = [...text.matchAll(/http:\/\/127\S+/g)].map(([link]) => link);
  expect(links).toHaveLength(3);
  for (const link of links)
    expect([link, (await fetch(link)).ok]).toEqual([link, true]);
  const user = await (await fetch(links[2] ?? "")).json();
  expect(user).toMatchObject({ balance: 120, links: { page: links[1] } });

  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([0, null]);
  await expect(fetch(links[0] ?? "")).rejects.toThrow();
});
