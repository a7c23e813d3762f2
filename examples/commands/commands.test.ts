/** Runs the commands of the guides, and compares what they print with the file that the guides quote (`-u` updates it). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { freePort } from "@loyalty-cards/testing/free-port";
import { listen, scratchFile } from "@loyalty-cards/testing/resources";
import {
  memoryDedupe,
  signWebhookSync,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { saveCards } from "../snippets/import/save-cards.ts";
import { findLine, openShell, startInClone } from "./shell.ts";

/** The regions of the file that the guides quote. */
const shown: string[] = [];
/** Ids, times and addresses are as in the guides. */
function show(region: string, output: string): void {
  const text = output
    .trimEnd()
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, "http://127.0.0.1:4010")
    .replace(/(-30 .*)op_\w{16}/, "$1op_4bN1xe")
    .replace(/\bop_\w{16}\b/g, "op_0tRm5c")
    .replace(/\bcard_\w{16}\b/g, "card_8sT2kq")
    .replace(/\bcus_\w{16}\b/g, "cus_3vPq81")
    .replace(/\/cards\/\w{16}/g, "/cards/8sT2kq")
    .replace(/\bevt_[\da-f]{8}\b/g, "evt_8sT2kq")
    .replace(/whsec_\w+/, "whsec_8sT2kq")
    .replace(/\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g, "6f1c2e5d")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-22T10:15:00.000Z")
    .replace(/in \d+ ms/g, "in 41 ms")
    .replace(/ +\d+(?= ms {2})/g, "   9")
    .replace(/in \d+ s$/m, "in 1 s");
  shown.push(`# #region ${region}\n${text}\n# #endregion\n`);
}

it("issues a first card in a clone, without a build, as the README shows", async () => {
  const port = await freePort();
  const replaced = { "run dev": `run dev -- --port ${port}`, "4010": port };
  await findLine(startInClone("dev", replaced), /^export LOYALTY_TEMPLATE_ID=/m);
  const card = /^card_\w{16} (http:\S+\/cards\/\w+)\n$/;
  const [, page = ""] = await findLine(startInClone("first-card", replaced), card);
  expect((await fetch(page)).status).toBe(200);
});

describe("getting started", () => {
  /** A reader's terminals: the mock service and the shop run, and `.env` has the variables. */
  async function openGuide() {
    const [port, shopPort] = [await freePort(), await freePort()];
    const replaced: Record<string, string | number> = {
      "dev --forward": `dev --port ${port} --forward`,
      "4010": port,
      "3000": shopPort,
    };
    const shell = openShell(replaced, { PORT: String(shopPort) });
    await shell.run("env");
    await findLine(shell.start("dev-forward"), /^LOYALTY_TEMPLATE_ID=/m);
    await findLine(shell.start("start-express"), /The shop is open/);
    const control = `http://127.0.0.1:${port}/_mock`;
    return {
      replaced,
      output: async (region: string) => (await shell.run(region)).stdout,
      async readCards() {
        const response = await fetch(`${control}/cards`);
        return ((await response.json()) as { items: { id: string }[] }).items;
      },
      async waitForDelivery() {
        const delivery = { type: "balance.changed", state: "delivered" };
        const headers = { "content-type": "application/json" };
        const body = JSON.stringify({ delivery });
        await fetch(`${control}/wait`, { method: "POST", headers, body });
      },
    };
  }

  it("prints the responses that the guide shows", async () => {
    const { output, readCards, waitForDelivery, replaced } = await openGuide();
    const card = await output("first-card-env");
    expect(card).toMatch(/^card_\w{16} http:\S+\/cards\/\w+\n/m);
    const [, page = ""] = card.trim().split(" ");
    expect((await fetch(page)).status).toBe(200);
    show("first-card", card);
    const showJson = (region: string, text: string) =>
      show(region, JSON.stringify(JSON.parse(text), null, 2));
    const signUp = await output("sign-up");
    showJson("sign-up", signUp);
    replaced["card_8sT2kq"] = JSON.parse(signUp).cardId;
    showJson("sign-up-again", await output("sign-up"));
    expect(await readCards()).toHaveLength(2);
    expect(await output("purchase-card")).toMatch(/^Purchase of 120 points/);
    await waitForDelivery();
    showJson("users", await output("users"));
  });

  it("starts the service on its port, and a command with the service in its environment", async () => {
    const port = await freePort();
    const { start, run } = openShell({ "4010": port });
    await findLine(start("port"), /"console": "(\S+)"/);
    const { status } = await fetch(`http://127.0.0.1:${port}/_mock/health`);
    expect(status).toBe(200);
    expect((await run("exec")).stdout).toMatch(
      /^npm test http:\/\/127\.0\.0\.1:\d+ tpl_\w+\n$/,
    );
  });
});

describe("the command line", async () => {
  const secret = "whsec_guide";
  const received: WebhookEvent[] = [];
  const mock = await startMockServer({
    templates: [
      {
        id: "tpl_bakery",
        name: "Bakery",
        fields: [{ key: "name", type: "name" }],
      },
    ],
  });
  const receive = nodeReceiver({
    secret,
    dedupe: memoryDedupe(),
    handler: (event) => void received.push(event),
    log: () => {},
  });
  const shop = new URL(await listen(receive, afterAll)).host;
  const port = await freePort();
  const replaced: Record<string, string> = {
    "localhost:3000": shop,
    "--port 4020": `--port ${port}`,
    "dev --forward": "dev --port 0 --forward",
  };
  const env = {
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: mock.service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: "tpl_bakery",
    LOYALTY_SIGNING_SECRET: secret,
  };
  const { folder, run, start } = openShell(replaced, env, afterAll);
  afterAll(mock.close);

  const record = (region: string, text: string) =>
    show(
      region,
      text
        .replaceAll(mock.url, "https://cards.example.com")
        .replaceAll(shop, "localhost:3000"),
    );
  const write = (file: string, text: string) =>
    writeFileSync(join(folder, file), text);
  const ping = { type: "ping", createdAt: "2026-11-22T10:00:00Z", data: {} };
  const toBody = (id: string) => JSON.stringify({ id, ...ping });

  it("issues a card, and shows it", async () => {
    const { stdout } = await run("issue");
    record("issue", stdout);
    const id = /card_\w+/.exec(stdout)?.[0] ?? "";
    replaced["card_8sT2kq"] = id;
    mock.service.cards.purchase(id, { points: 120 });
    mock.service.cards.redeem(id, { points: 30 });
    expect((await run("card")).stdout).toContain(`Card        ${id}\n`);
  });

  it.each(["doctor", "operations"])("runs %s", async (region) => {
    const { code, stdout } = await run(region);
    expect(code).toBe(0);
    record(region, stdout);
  });

  it("records a consent and a purchase", async () => {
    const { stdout } = await run("consent");
    expect(stdout).toBe("Marketing consent: no\nMarketing consent: yes\n");
    expect((await run("purchase-card")).stdout).toContain("the balance is 210");
  });

  it("imports a list, and a row that was corrected, as the guide shows", async () => {
    const list = `id,mobile,name
101,+48600100301,Anna
102,4.86E+10,Jan
103,+48600100303,Eva
103,+48600100304,Eva
104,+481234,Piotr
`;
    write("members.csv", list);
    for (const region of ["import-check", "import"]) {
      const { code, stdout } = await run(region);
      expect(code).toBe(1);
      record(region, stdout);
    }
    expect(mock.service.cards.list().at(-1)?.fieldValues).toEqual({ name: "Eva" });
    // A spreadsheet would run most of these ids.
    const ids = ["-x7", "=1+1", "@a", "+48", "a  b", "a\u00a0b", "-1,5"];
    const more = ids.map((id, at) => `"${id}",+4860010031${at},\n`).join("");
    write("members.csv", list.replace("4.86E+10", "+48600100302") + more);
    const { stdout } = await run("import");
    expect(stdout).toMatch(/\n {2}issued +10 .*\n {2}rejected +2 /);

    const outbox = sqliteOutbox({
      client: createIssuingClient({ baseUrl: mock.url, apiKey: "unused" }),
      file: scratchFile(),
    });
    onTestFinished(() => outbox.close());
    const read = () =>
      outbox.write((database) => database.prepare("SELECT * FROM users").all());
    await outbox.write((database) => {
      database.exec("CREATE TABLE users (id TEXT, card TEXT, page TEXT)");
      const insert = database.prepare("INSERT INTO users (id) VALUES (?)");
      for (const id of ["101", "102", "103", "104", ...ids]) insert.run(id);
    });
    await saveCards(join(folder, "members.cards.csv"), outbox);
    const issued = (id: string) => ({
      id,
      card: expect.stringMatching(/^card_/),
      page: expect.stringMatching(/^http:.*\/cards\//),
    });
    const rejected = { id: "104", card: null, page: null };
    const stored = ["101", "102", "103", ...ids].map(issued);
    expect(await read()).toEqual([
      ...stored.slice(0, 3),
      rejected,
      ...stored.slice(3),
    ]);
  });

  it("sends events to a receiver, and says whether it responded as it should", async () => {
    record("trigger", (await run("trigger")).stdout);
    expect(received.map(({ type }) => type)).toEqual(["balance.changed"]);
  });

  it("says why a captured delivery is rejected", async () => {
    const rawBody = toBody("evt_1");
    write("captured.json", `${rawBody}\n`);
    const SIGNATURE = signWebhookSync({ rawBody, secret });
    const { stdout, code } = await run("webhook-verify", { SIGNATURE });
    expect(code).toBe(1);
    record("webhook-verify", stdout);
  });

  it("examines a receiver", async () => {
    const { stdout } = await run("webhook-doctor");
    expect(stdout).toMatch(/^\d+ checks: \d+ passed\.\n$/);
  });

  it("passes signed deliveries on to the receiver", async () => {
    await findLine(start("webhook-listen"), new RegExp(`:${port}`));
    const rawBody = toBody("evt_listen");
    const headers = { "service-signature": signWebhookSync({ rawBody, secret }) };
    const init = { method: "POST", body: rawBody, headers };
    expect((await fetch(`http://127.0.0.1:${port}/`, init)).status).toBe(204);
    expect(received.at(-1)?.id).toBe("evt_listen");
  });

  it("signs a body, which curl delivers", async () => {
    write("body.json", `${toBody("evt_signed")}\n`);
    expect((await run("webhook-sign")).code).toBe(0);
    expect(received.at(-1)?.id).toBe("evt_signed");
  });

  it("runs a mock service, and prints its variables", async () => {
    const settings = { LOYALTY_SIGNING_SECRET: "", LOYALTY_URL: "" };
    const child = start("dev-forward", settings);
    const [output] = await findLine(child, /[\s\S]*LOYALTY_SIGNING_SECRET=.*\n/);
    record("dev", output.match(/^LOYALTY_.*$/gm)?.join("\n") ?? "");
  });
});

it("prints what the guides quote", async () => {
  await expect(shown.join("\n")).toMatchFileSnapshot("commands.output.txt");
});
