/** The form of a shop in Poland: every code, every reason, every label and the card in Polish, and nothing in English. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createIssuingClient,
  type IssueCardOptions,
  type IssuingErrorCode,
  type RejectedField,
} from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import type { MockServerOptions } from "@loyalty-cards/mock-server/node";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { createClients, showEntry, showForm, signUp, texts } from "./languages.ts";

const field = { key: "name", type: "name", required: true, label: "Imię" } as const;
const valid = {
  name: "Łucja",
  email: "lucja@example.com",
  phone: "+48600100200",
  privacy: "2026-01",
  marketing: "2026-01",
};

async function open(type: "name" | "number" = "name") {
  const fields = [{ ...field, type }];
  const options: MockServerOptions = {
    templates: [{ id: "tpl_coffee", name: "Klub", fields }],
  };
  const { url, service, close } = await startMockServer(options);
  onTestFinished(close);
  Object.assign(process.env, {
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
  });
  const clients = createClients();
  /** Sends the form with the changed inputs. @returns the page. */
  const send = (
    changes: Partial<typeof valid> = {},
    options: Partial<IssueCardOptions> = {},
    language = "pl-PL, en;q=0.5",
  ) => {
    const body = new URLSearchParams({ ...valid, ...changes });
    const headers = { "accept-language": language };
    const request = new Request("http://shop.test", {
      method: "POST",
      body,
      headers,
    });
    const id = { idempotencyKey: crypto.randomUUID() };
    const all = { ...id, maxRetries: 0, ...options } as IssueCardOptions;
    return signUp(request, clients, all);
  };
  return { service, send };
}

type Shop = Awaited<ReturnType<typeof open>>;

const getTexts = (value: object | string): string[] =>
  typeof value === "string" ? [value] : Object.values(value).flatMap(getTexts);
const englishTexts = getTexts(texts.en);

function expectPolish(page: string, ...polish: string[]) {
  for (const text of polish) expect(page).toContain(text);
  for (const text of englishTexts) expect(page).not.toContain(text);
  expect(page).not.toMatch(/\b(the|is|not|please|your|add|for|valid)\b/i);
}

const afterStatus =
  (status: number) =>
  ({ service, send }: Shop) => {
    service.faults.add({ phase: "before", kind: "status", status });
    return send();
  };

const afterFault =
  (kind: "reset" | "hang", options: Partial<IssueCardOptions> = {}) =>
  ({ service, send }: Shop) => {
    service.faults.add({ phase: "before", kind });
    return send({}, options);
  };

/** How a visitor comes to see each code. */
const causes: Record<IssuingErrorCode, (shop: Shop) => Promise<string>> = {
  validation: ({ send }) => send({ phone: "12" }),
  "not-found": afterStatus(404),
  unauthorized: afterStatus(401),
  forbidden: afterStatus(403),
  conflict: afterStatus(409),
  "rate-limited": afterStatus(429),
  rejected: afterStatus(418),
  server: afterStatus(503),
  network: afterFault("reset"),
  timeout: afterFault("hang", { timeoutMs: 50, deadlineMs: 5_000 }),
  deadline: afterFault("hang", { deadlineMs: 50 }),
  "invalid-response": ({ service, send }) => {
    service.faults.add({ phase: "after-commit", kind: "html", status: 200 });
    return send();
  },
  "idempotency-mismatch": async ({ send }) => {
    const options = { idempotencyKey: "one" };
    const pages = [send({}, options), send({ name: "Ola" }, options)];
    return (await Promise.all(pages)).find((page) => page.includes("<form")) ?? "";
  },
  "idempotency-expired": ({ send }) => send({}, { firstAttemptAt: 0 }),
  configuration: ({ send }) => send({}, { deadlineMs: -1 }),
};

const reasons: Record<
  RejectedField["reason"],
  (open: (type?: "name" | "number") => Promise<Shop>) => Promise<string>
> = {
  required: async (open) => (await open()).send({ name: " " }),
  format: async (open) => (await open()).send({ phone: "12" }),
  type: async (open) => (await open("number")).send(),
  "too-long": async (open) =>
    (await open()).send({ email: `${"a".repeat(250)}@example.com` }),
};

describe("a shop in Poland", () => {
  it.each(Object.keys(causes) as IssuingErrorCode[])(
    "shows the code %s in Polish",
    async (code) => {
      const page = await causes[code](await open());
      const labels = Object.values(texts.pl.labels);
      expectPolish(page, texts.pl.errors[code], ...labels);
    },
  );

  it.each(Object.keys(reasons) as RejectedField["reason"][])(
    "shows the reason %s in Polish beside its input",
    async (reason) => {
      const page = await reasons[reason](open);
      expectPolish(page, `<em>${texts.pl.fields[reason]}</em>`);
      expect(page.match(/<em>/g)).toHaveLength(1);
    },
  );

  it("marks each input of the form", async () => {
    const { send } = await open();
    const page = await send({ name: "", email: "x", phone: "12" });
    expect(page.match(/<em>/g)).toHaveLength(3);
    const { required } = texts.pl.fields;
    expect(await send({ privacy: "" })).toMatch(
      new RegExp(`name="privacy"[^>]*> <em>${required}</em>`),
    );
  });

  it("keeps what the visitor typed, escaped", async () => {
    const { send } = await open();
    const page = await send({ name: '"<b>', phone: "12", marketing: "" });
    expect(page).toContain('value="&#34;&#60;b&#62;"');
    expect(page.match(/ checked>/g)).toHaveLength(1);
  });

  it("does not speak of marked fields when no input is marked", async () => {
    const { service, send } = await open();
    service.faults.add({ phase: "before", kind: "status", status: 422 });
    const page = await send();
    expectPolish(page, texts.pl.errors.rejected);
    expect(page).not.toContain(texts.pl.errors.validation);
  });

  it("shows each state of an entry of the outbox, and never asks to try again", async () => {
    const { service } = await open();
    const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-languages-"));
    const file = join(folder, "shop.db");
    const outbox = sqliteOutbox({
      client: createIssuingClient(),
      file,
      log: () => {},
    });
    onTestFinished(async () => {
      await outbox.close();
      rmSync(folder, { recursive: true });
    });
    const show = async (phone: string) => {
      const customer = {
        name: "Łucja",
        phone,
        consents: { privacy: { version: "1" } },
      };
      const request = { fieldValues: { name: "Łucja" }, customer };
      await outbox.write((database) =>
        outbox.add(database, { userId: phone, template: "tpl_coffee", request }),
      );
      return showEntry(await outbox.issue(phone, { deadlineMs: 2_000 }), "pl");
    };
    expect(await show("600100200")).toContain(texts.pl.wallets.first);
    const rejected = await show("12");
    expectPolish(
      rejected,
      texts.pl.errors.validation,
      `<em>${texts.pl.fields.format}</em>`,
    );
    service.faults.add({ phase: "before", kind: "status", status: 503, times: 9 });
    expect(await show("600100201")).toBe(`<p>${texts.pl.follows}</p>`);
  });

  it("shows the empty form, and the card with its buttons and QR code, in Polish", async () => {
    expectPolish(showForm(texts.pl), ...Object.values(texts.pl.labels));
    const { service, send } = await open();
    const card = await send();
    const { wallets, qrCode } = texts.pl;
    expectPolish(
      card.replaceAll(/(?:href|src)="[^"]*"/g, ""),
      ...Object.values(wallets),
    );
    expect(card).toContain(`aria-label="${qrCode}"`);
    expect(JSON.stringify(service.snapshot())).toContain('"marketingConsent":true');
  });

  it("shows the same form in English to a visitor who reads English", async () => {
    const { send } = await open();
    const page = await send({ phone: "12" }, {}, "en-GB, pl;q=0.5");
    expect(page).toContain(texts.en.errors.validation);
    expect(page).toContain(`<em>${texts.en.fields.format}</em>`);
    for (const label of Object.values(texts.en.labels))
      expect(page).toContain(label);
  });
});
