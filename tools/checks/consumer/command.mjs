/** Runs the main commands of the installed `loyalty-cards`, under its own `exec`. Prints "works". */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

/** @returns what the command printed on stdout. */
const run = (...args) =>
  execFileSync(process.execPath, ["node_modules/@loyalty-cards/cli/bin.js", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
const runJson = (...args) => JSON.parse(run(...args, "--json"));

function expect(isTrue, what) {
  if (!isTrue) throw new Error(`loyalty-cards: ${what}`);
}

expect(/^\d+\.\d+\.\d+/.test(run("--version")), "--version");
expect(run("--help").startsWith("Usage: loyalty-cards"), "--help");
expect(
  runJson("doctor").checks.every(({ status }) => status === "passed"),
  "doctor",
);
expect(runJson("drift", "--fail-on", "any").differences.length === 0, "drift");

const card = runJson("issue", "--user-id", "7", "--privacy", "2026-01", "--phone", "+48600100200");
expect(card.status === "active", "issue");
expect(run("card", card.id, "--qr").includes("█"), "card --qr");
expect(runJson("operations", card.id).length === 0, "operations");
expect(runJson("consent", card.id, "--set", "yes").marketingConsent === true, "consent");

writeFileSync("members.csv", "userId,phone\n8,+48600100201\n9,+48600100202\n");
run("import", "members.csv", "--privacy", "2026-01", "--yes");
expect(readFileSync("members.cards.csv", "utf8").trim().split("\n").length === 3, "import");

process.env.LOYALTY_SIGNING_SECRET = "whsec_test";
writeFileSync("event.json", '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00Z","data":{}}');
const signature = run("webhook", "sign", "--body", "event.json").trim();
run("webhook", "verify", "--body", "event.json", "--signature", signature);
console.log("works");
