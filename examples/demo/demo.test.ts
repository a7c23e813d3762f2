/** The demo prints its steps (`-u` updates what the README quotes), and leaves the shop open if it is asked to. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { findLine, fromSource } from "../commands/shell.ts";
import { runDemo } from "./demo.ts";

it("succeeds and prints each step with its time, in 80 columns and at most 20 lines, without addresses", async () => {
  const lines: string[] = [];
  expect(await runDemo((line) => lines.push(line))).toBe(true);
  const withoutTimes = lines.map((line) => line.replace(/ +\d+ ms$/, ""));
  const output = withoutTimes.join("\n").replace(/card_\w{16}/, "card_8sT2kq");
  await expect(`${output}\n`).toMatchFileSnapshot("demo.output.txt"); // the README quotes it
  expect(lines.length).toBeLessThanOrEqual(20);
  const wrong = lines.filter((line) => line.length > 80 || line.includes("http"));
  expect(wrong).toEqual([]);
  const steps = lines.filter((line) => line.startsWith("✓"));
  expect(steps.filter((line) => !/^(?=.{80}$).* \d+ ms$/.test(line))).toEqual([]);
  expect(steps).toHaveLength(7);
});

it("leaves the shop and the service running with --keep, so that the printed links open, until Ctrl-C", async () => {
  const program = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(process.execPath, [...fromSource, program, "--keep"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (data) => {
    errors += data;
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = await findLine(child, /^[\s\S]*console\s+\S+ [^\n]+\n/);
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  const links = [...text.matchAll(/http:\/\/127\S+/g)].map(([link]) => link);
  expect(links).toHaveLength(4);
  for (const link of links)
    expect([link, (await fetch(link)).ok]).toEqual([link, true]);
  const [shop = "", page = "", card, console = ""] = links;
  const anna = page.replace("#", "users/");
  expect(await (await fetch(anna)).json()).toMatchObject({
    balance: 120,
    level: "Silver",
    links: { page: card },
  });
  expect(await (await fetch(shop)).text()).toContain("Become a member");

  const control = new URL("/_mock/", console);
  await fetch(new URL("reset", control), { method: "POST" });
  const response = await fetch(new URL("webhooks/endpoints", control));
  expect(await response.json()).toMatchObject({
    items: [{ url: new URL("/webhooks/loyalty", shop).href }],
  });

  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(errors).toBe(""); // no log lines between the steps
  await expect(fetch(console)).rejects.toThrow();
});
