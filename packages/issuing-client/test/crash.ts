/** Kills sign-ups at random points and starts them again: each user must have exactly one card. */
// G1
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { createMockService } from "../../mock-server/src/index.ts";

const users = Number(process.argv[2] ?? 200);
const program = fileURLToPath(new URL("crash-sign-up.mjs", import.meta.url));
const service = createMockService();

// The network is slow in both directions, so that a kill can happen before, during and after the issuing.
const server = createServer(
  getRequestListener(async (request) => {
    await pause(Math.random() * 40);
    const response = await service.fetch(request);
    await pause(Math.random() * 40);
    return response;
  }),
);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Runs a sign-up, and kills it after the given time. @returns the card's id, or undefined when it was killed before. */
function signUp(userId: number, killAfterMs?: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const args = [program, url, service.apiKeys.website, service.templateId, String(userId)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const startedMs = performance.now();
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      responseAfterMs = performance.now() - startedMs;
    });
    const timer =
      killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    child.on("close", () => {
      clearTimeout(timer);
      resolve(output.trim() || undefined);
    });
  });
}

/** The duration of the last sign-up. */
let responseAfterMs = 0;

const countCards = () => (service.snapshot().state as { cards: Map<string, unknown> }).cards.size;

// The duration of a complete sign-up here, so that the kills cover all of it.
const times: number[] = [];
for (let user = 1; user <= 9; user++) {
  await signUp(-user);
  times.push(responseAfterMs);
}
const wholeMs = times.sort((a, b) => a - b)[4] ?? 0;
service.reset();

const tally = { beforeTheCard: 0, afterTheCard: 0, tooLate: 0 };
const cards = new Set<string>();
let wrong = 0;
for (let user = 1; user <= users; user++) {
  const before = countCards();
  // Node itself starts during the first half; three of four kills happen in the second.
  const point = Math.random() < 0.25 ? Math.random() : 0.5 + Math.random() * 0.5;
  const first = await signUp(user, point * wholeMs);
  if (first !== undefined) tally.tooLate += 1;
  else if (countCards() > before) tally.afterTheCard += 1;
  else tally.beforeTheCard += 1;
  const again = await signUp(user);
  if (again === undefined || (first !== undefined && first !== again) || countCards() !== before + 1)
    wrong += 1;
  if (again !== undefined) cards.add(again);
}
server.close();
server.closeAllConnections();

const { beforeTheCard, afterTheCard, tooLate } = tally;
console.log(`${users} sign-ups of about ${Math.round(wholeMs)} ms, killed at random points and restarted:`);
console.log(
  `killed before the card was issued ${beforeTheCard}, after it ${afterTheCard}, ended before the kill ${tooLate}`,
);
console.log(`${cards.size} cards for ${users} users, ${wrong} wrong`);
process.exitCode = wrong === 0 && cards.size === users ? 0 : 1;
