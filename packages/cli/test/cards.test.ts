/** `issue`, `card`, `operations`, `consent` and `purchase`, against the mock service. */

import { deriveIdempotencyKey } from "@loyalty-cards/issuing-client";
import { listen } from "@loyalty-cards/testing/resources";
import { describe, expect, it } from "vitest";
import { openMock, run as runCommand, secret, startReceiver } from "./terminal.ts";

const issueAnna = ["issue", "--user-id", "7", "--privacy", "2026-01", "--phone", "+48600100200"];

async function openTerminal(options: Parameters<typeof openMock>[0] = {}) {
  const mock = await openMock(options);
  const run = (...args: string[]) => runCommand(args, { env: mock.env });
  const runJson = async (...args: string[]) => JSON.parse((await run(...args, "--json")).stdout);
  return { ...mock, run, runJson };
}

describe("issue", () => {
  it("issues one card however often it runs", async () => {
    const { run, runJson, service } = await openTerminal();
    const issue = [
      ...issueAnna,
      "--field",
      "name=Anna",
      "--field",
      "visits:=3",
      "--marketing",
      "2026-02",
    ];
    const card = await runJson(...issue);
    expect(card).toMatchObject({ status: "active", fieldValues: { name: "Anna", visits: 3 } });
    const again = await run(...issue);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toMatch(new RegExp(`^Card +${card.id}\\nPage +${card.publicUrl}\\n`));
    expect(service.cards.get(card.id).fieldValues).toMatchObject({ name: "Anna", visits: 3 });
  });

  it("says that a card is that of an earlier request when its fields differ from those sent", async () => {
    const { run, runJson } = await openTerminal();
    const card = await runJson(...issueAnna, "--field", "name=Anna");
    expect(card.earlierRequest).toBeUndefined();
    const { code, stdout, stderr } = await run(...issueAnna, "--field", "name=Jan");
    expect([code, stdout]).toEqual([0, expect.stringContaining(card.id)]);
    expect(stderr).toBe(
      "This is the card of an earlier request, unless the service changes values: it has other values for name than those sent. Is --user-id the id of another person?\n",
    );
    expect(await runJson(...issueAnna, "--field", "name=Jan")).toMatchObject({
      id: card.id,
      earlierRequest: { differentFields: ["name"] },
    });
    expect(await run(...issueAnna, "--field", "name=Anna")).toMatchObject({ code: 0, stderr: "" });
  });

  it("gives marketing consent only with --marketing", async () => {
    const { runJson } = await openTerminal();
    const without = await runJson(...issueAnna);
    expect(await runJson("consent", without.id)).toMatchObject({ marketingConsent: false });
    const other = await runJson("issue", "--user-id", "8", "--privacy", "1", "--marketing");
    expect(await runJson("consent", other.id)).toMatchObject({ marketingConsent: true });
  });

  it("uses --template rather than the variable, and says what to set without either", async () => {
    const { run, env } = await openTerminal();
    expect((await run(...issueAnna, "--template", "tpl_none")).stderr).toContain(
      'template "tpl_none" does not exist',
    );
    const { LOYALTY_TEMPLATE_ID: _, ...others } = env;
    expect(await runCommand(issueAnna, { env: others })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("use --template, or set LOYALTY_TEMPLATE_ID"),
    });
  });

  /** A service that rejects every request with this body. */
  const openRejecting = async (problem: unknown) => ({
    LOYALTY_URL: await listen((request, response) => {
      request.resume().on("end", () => {
        response
          .writeHead(422, { "content-type": "application/problem+json" })
          .end(JSON.stringify(problem));
      });
    }),
    LOYALTY_API_KEY: "lk_1",
    LOYALTY_TEMPLATE_ID: "tpl_1",
  });

  it("prints the detail of a 422 and its fields, because the person at the terminal typed the data", async () => {
    const env = await openRejecting({
      status: 422,
      detail: "+4860 is too short.\u001b[2J",
      errors: [
        { pointer: "/customer/phone", detail: "needs nine digits" },
        { pointer: "/fieldValues/anna@example.com", detail: "is unknown" },
      ],
    });
    const { code, stdout, stderr } = await runCommand(
      ["issue", "--user-id", "7", "--privacy", "1"],
      { env },
    );
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.split("\n").slice(0, 4)).toEqual([
      "loyalty-cards: The service responded 422 to issueCard: /customer/phone.",
      "The service says: +4860 is too short.\\u001b[2J",
      "  /customer/phone: needs nine digits",
      expect.stringMatching(/^ {2}\/fieldValues\/anna.*: is unknown$/),
    ]);
  });

  it("prints a sentence once that is the detail of a 422 and of its fields", async () => {
    const { run } = await openTerminal();
    const { stderr } = await run(...issueAnna, "--phone", "+4860", "--email", "anna@");
    expect(stderr.split("\n").slice(0, -2)).toEqual([
      "loyalty-cards: The service responded 422 to issueCard: /customer/phone, /customer/email.",
      "The service says: The phone number is not valid. The email address is not valid.",
    ]);
    expect(stderr).not.toContain("userMessage");
  });

  it.each([
    ["no detail", { status: 422 }],
    ["a blank detail", { status: 422, detail: " " }],
    ["a page as its detail", { status: 422, detail: "x".repeat(2_000) }],
  ])("says that a 422 with %s does not say what to correct", async (_name, problem) => {
    const env = await openRejecting(problem);
    const { stderr } = await runCommand(["issue", "--user-id", "7", "--privacy", "1"], { env });
    expect(stderr.split("\n")[0]).toBe(
      "loyalty-cards: The service responded 422 to issueCard: the response has no detail that says what to correct.",
    );
    expect(stderr).not.toContain("userMessage");
  });

  it.each([
    "name",
    "=Anna",
    "visits:=many",
    "visits:=",
    "visits:=12345678901234567890",
    "visits:=1e400",
  ])("rejects --field %s, without printing it", async (field) => {
    const { run } = await openTerminal();
    const result = await run(...issueAnna, "--field", field);
    expect(result).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/--field must be key=text/),
    });
    expect(result.stderr).not.toContain("many");
  });

  it("says that the same command is safe when the outcome is unknown", async () => {
    const { run, service } = await openTerminal();
    service.faults.add({
      phase: "after-commit",
      kind: "status",
      status: 503,
      retryAfterSeconds: 0,
      times: 3,
    });
    const result = await run(...issueAnna);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toContain("Run the same command again");
    expect((await run(...issueAnna)).code).toBe(0);
  });
});

describe("card and operations", () => {
  it("print the card as the service sent it, and a table of its operations, the newest first", async () => {
    const { run, runJson, service } = await openTerminal();
    const { id } = await runJson(...issueAnna);
    expect((await run("operations", id)).stdout).toBe("This card has no operations.\n");
    service.cards.purchase(id, { points: 120 });
    service.cards.redeem(id, { points: 30 });
    expect(await runJson("card", id)).toMatchObject({ id, loyaltyBalance: 90, loyaltyTier: null });
    const lines = (await run("operations", id)).stdout.split("\n");
    expect(lines[0]).toMatch(/^Time +Type +Change +Balance +Id$/);
    expect(lines[1]).toMatch(/Z {2}redemption +-30 +90 {2}op_\w+$/);
    expect(lines[2]).toMatch(/Z {2}purchase +120 +120 {2}op_\w+$/);
    expect(await runJson("operations", id, "--limit", "1")).toMatchObject([{ type: "redemption" }]);
    const { stdout: help } = await run("operations", "--help");
    expect(help).toMatch(
      /--limit <number> +how many operations \(default: the service decides\)\n/,
    );
  });

  it("print a field value that is neither text nor a number as JSON", async () => {
    const fieldValues = { name: "Anna", points: 5, size: { toString: 1 } };
    const card = { id: "card_1", publicUrl: "https://cards.example/1", fieldValues };
    const LOYALTY_URL = await listen((_request, response) => response.end(JSON.stringify(card)));
    const env = { LOYALTY_URL, LOYALTY_API_KEY: "key" };
    const { stdout } = await runCommand(["card", "card_1"], { env });
    expect(stdout.match(/^Field.*$/gm)).toEqual([
      "Field name    Anna",
      "Field points  5",
      'Field size    {"toString":1}',
    ]);
  });
});

describe("LOYALTY_IDEMPOTENCY_NAMESPACE", () => {
  it("is a part of the key, so that the command and a program issue one card; it must not be blank", async () => {
    let key: unknown;
    const LOYALTY_URL = await listen((request, response) => {
      key = request.headers["idempotency-key"];
      response.writeHead(422).end();
    });
    const env = { LOYALTY_URL, LOYALTY_API_KEY: "lk_1", LOYALTY_TEMPLATE_ID: "tpl_bakery" };
    const getKey = async (namespace?: string) => {
      const own = {
        ...env,
        ...(namespace !== undefined && { LOYALTY_IDEMPOTENCY_NAMESPACE: namespace }),
      };
      const { code, stderr } = await runCommand(issueAnna, { env: own });
      return code === 1 ? key : stderr;
    };
    const derive = (namespace: string) =>
      deriveIdempotencyKey({ templateId: "tpl_bakery", userId: "7", namespace });
    expect([await getKey(), await getKey(""), await getKey("staging")]).toEqual([
      await derive(""),
      await derive(""),
      await derive("staging"),
    ]);
    expect(await derive("staging")).not.toBe(await derive(""));
    expect(await getKey(" ")).toMatch(/NAMESPACE\) is .*blank/);
  });
});

describe("consent", () => {
  it("prints the consent, and changes it with --set", async () => {
    const { run, runJson } = await openTerminal();
    const { id } = await runJson(...issueAnna);
    expect((await run("consent", id)).stdout).toBe("Marketing consent: no\n");
    expect((await run("consent", id, "--set", "yes", "--version", "2026-01")).stdout).toBe(
      "Marketing consent: yes\n",
    );
    expect(await runJson("consent", id)).toMatchObject({ marketingConsent: true });
    expect((await run("consent", id, "--set", "no")).stdout).toBe("Marketing consent: no\n");
  });

  it("rejects a version without an answer", async () => {
    const { run } = await openTerminal();
    expect(await run("consent", "x", "--version", "2026-01")).toMatchObject({
      code: 2,
      stdout: "",
    });
  });
});

describe("purchase", () => {
  it("changes the balance of the card, and delivers balance.changed of that card", async () => {
    const { url, accepted } = await startReceiver();
    const endpoints = [{ url, secret, events: ["balance.changed" as const] }];
    const { run, runJson, service } = await openTerminal({ endpoints });
    const { id } = await runJson(...issueAnna);
    const { code, stdout, stderr } = await run("purchase", id, "120");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Purchase of 120 points: the balance is 120 \(op_\w+\)\n$/);
    expect(service.cards.get(id).loyaltyBalance).toBe(120);
    await expect
      .poll(() => accepted.map(({ event }) => event))
      .toMatchObject([{ type: "balance.changed", data: { passId: id, balance: 120 } }]);
    const { baseUrl } = service; // a shell may leave a space behind it
    expect(await runJson("purchase", id, "7", "--base-url", `${baseUrl} `)).toMatchObject({
      type: "purchase",
      change: 7,
      balance: 127,
    });
  });

  it("fails for a card that does not exist, for points that are not a whole number, and when nothing listens", async () => {
    const { run, close } = await openTerminal();
    const stderr =
      'loyalty-cards: There is no card "card_none". dev forgets its cards when it stops; --data FILE keeps them.\n';
    expect(await run("purchase", "card_none", "120")).toEqual({ code: 1, stdout: "", stderr });
    expect((await run("purchase", "x", "0")).stderr).toContain(
      "loyalty-cards: value '0' is invalid for argument 'points'. It must be a whole number of at least 1.",
    );
    expect(await run("purchase", "", "120")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'card-id'. It must not be blank."),
    });
    const exchanged = await run("purchase", "120", "card_x");
    expect([exchanged.code, exchanged.stderr]).toEqual([
      2,
      expect.stringContaining("The card comes first: purchase CARD POINTS."),
    ]);
    await close();
    const away = { code: 1, stderr: expect.stringContaining("Run `loyalty-cards dev`") };
    expect(await run("purchase", "card_1", "120")).toMatchObject(away);
  });

  it("sends no purchase and no key to a service that is not the mock", async () => {
    const requests: string[] = [];
    const LOYALTY_URL = await listen(({ method, url, headers }, response) => {
      requests.push(`${method} ${url} ${headers.authorization}`);
      response.writeHead(404).end();
    });
    const env = { LOYALTY_URL, LOYALTY_API_KEY: "lk" };
    const { code, stderr } = await runCommand(["purchase", "card_1", "120"], { env });
    expect([code, requests]).toEqual([2, ["GET /_mock/health undefined"]]);
    expect(stderr).toContain("This address is not a mock service");
  });

  it("takes a body that is null for one without members", async () => {
    const LOYALTY_URL = await listen(({ url }, response) => {
      if (url === "/_mock/health" && isMock) response.end('{"status":"ok"}');
      else response.writeHead(status).end("null");
    });
    const env = { LOYALTY_URL, LOYALTY_IDEMPOTENCY_NAMESPACE: "'unused'" };
    const purchase = () => runCommand(["purchase", "card_1", "120"], { env });
    let isMock = false;
    let status = 500;
    const other = await purchase();
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining("This address is not a mock service"),
    ]);
    isMock = true;
    const failed = await purchase();
    expect([failed.code, failed.stderr]).toEqual([
      1,
      "loyalty-cards: The mock service responded 500.\n",
    ]);
    status = 200;
    expect((await purchase()).stderr).toBe("loyalty-cards: The mock service responded 200.\n");
  });

  it.each([
    ["localhost:4010", "has no scheme"],
    ["http://localhost:4010/api/v1", "must not end in /api/v1"],
  ])("says what is wrong with the address %s, as the other commands do", async (address, found) => {
    const env = { LOYALTY_URL: address };
    const { code, stderr } = await runCommand(["purchase", "card_1", "10"], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining(found)]);
  });
});
