/** Planted mistakes: copies of two examples, each with one mistake that developers make, and the check that must find it. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../tools/published.ts";

export interface Mistake {
  name: string;
  /** The example that is copied. */
  example: "express" | "getting-started";
  /** The name of the check. */
  foundBy: string;
  /** Each `find` stands once in its file. */
  patches: readonly { file: string; find: string; replace: string }[];
}

const issueThroughOutbox = `  const { publicUrl, cardId, state, error } = await outbox.issue(userId, {
    deadlineMs: 5_000,
  });
`;
const addToOutbox = `    const state = outbox.add(database, {
      userId: id,
      template: templateId(),
      request: toRequest(form),
    });
    if (state !== "added") outbox.correct(database, id, toRequest(form));
`;
const insertUser = `      const { changes } = database
        .prepare(insert)
        .run(userId, form.name, form.email, form.phone);
      if (changes)
        outbox.add(database, { userId, template, request: toRequest(form) });
      return changes;
    });
`;

export const mistakes: readonly Mistake[] = [
  {
    name: "each form is another user",
    example: "getting-started",
    foundBy: "repeated-form",
    patches: [
      { file: "loyalty.ts", find: "email TEXT UNIQUE, cardId", replace: "email TEXT, cardId" },
      {
        file: "loyalty.ts",
        find: "  ON CONFLICT (email) DO UPDATE SET name = excluded.name RETURNING id",
        replace: "  RETURNING id",
      },
    ],
  },
  {
    name: "the user is looked up in one transaction and saved in another",
    example: "getting-started",
    foundBy: "forms-at-once",
    patches: [
      { file: "loyalty.ts", find: "email TEXT UNIQUE, cardId", replace: "email TEXT, cardId" },
      {
        file: "loyalty.ts",
        find: "  ON CONFLICT (email) DO UPDATE SET name = excluded.name RETURNING id",
        replace: "  RETURNING id",
      },
      {
        file: "loyalty.ts",
        find: "  const userId = await outbox.write((database) => {\n",
        replace: `  const known = (await listUsers()).find((user) => user.email === form.email);
  await new Promise((resolve) => setTimeout(resolve, 30)); // the hash of a password
  const userId = known?.id ?? await outbox.write((database) => {
`,
      },
    ],
  },
  {
    name: "each attempt has another idempotency key",
    example: "getting-started",
    foundBy: "lost-response",
    patches: [
      { file: "loyalty.ts", find: addToOutbox, replace: "" },
      {
        file: "loyalty.ts",
        find: issueThroughOutbox,
        replace: `  let card, state, error, attempt = 0;
  while (card === undefined)
    card = await client
      .issueCard(templateId(), toRequest(form), { userId: \`\${userId}-\${attempt++}\`, maxRetries: 0 })
      .catch((error) => { if (attempt === 5) throw error; });
  const { publicUrl, id: cardId } = card;
  await outbox.write((database) =>
    database.prepare("UPDATE users SET cardId = ? WHERE id = ?").run(cardId, userId));
`,
      },
    ],
  },
  {
    name: "a 422 is not shown",
    example: "express",
    foundBy: "rejected-form",
    patches: [{ file: "sign-up.ts", find: 'else if (state === "rejected")', replace: "else if (false)" }],
  },
  {
    name: "no worker issues the cards that are owed",
    example: "express",
    foundBy: "service-down",
    patches: [{ file: "sign-up.ts", find: "  outbox.work(); //", replace: "  //" }],
  },
  {
    name: "the card is issued before the user is saved",
    example: "express",
    foundBy: "killed-sign-ups",
    patches: [
      {
        file: "sign-up.ts",
        find: "    const isNew = await outbox.write((database) => {\n",
        replace: `    const known = await outbox.write((database) =>
      database.prepare("SELECT id FROM users WHERE email = ?").get(form.email));
    if (known) return void response.status(409).json({ message: "You have an account already." });
    await client.issueCard(template, toRequest(form), { userId });
    const isNew = await outbox.write((database) => {
`,
      },
    ],
  },
  {
    name: "the user is saved without the owed card",
    example: "express",
    foundBy: "killed-sign-ups",
    patches: [
      {
        file: "sign-up.ts",
        find: insertUser,
        replace: `      return database.prepare(insert).run(userId, form.name, form.email, form.phone).changes;
    });
    if (isNew) {
      await client.issueCard(template, toRequest(form), { userId });
      await outbox.write((database) => outbox.add(database, { userId, template, request: toRequest(form) }));
    }
`,
      },
    ],
  },
  {
    name: "signatures are not verified",
    example: "express",
    foundBy: "doctor",
    patches: [
      {
        file: "shop.ts",
        find: "expressReceiver({ secret, inbox, ...options })",
        replace: `express.text({ type: "*/*" }), async (request, response) => {
    const body = Buffer.from(request.body);
    const event = JSON.parse(request.body);
    await inbox.put(event, { body, receivedAt: new Date() }, { signal: AbortSignal.timeout(9_000) });
    response.sendStatus(204);
  }`,
      },
    ],
  },
  {
    name: "a parser reads the body before the receiver",
    example: "express",
    foundBy: "doctor",
    patches: [
      {
        file: "shop.ts",
        find: "const app = express();",
        replace: "const app = express();\n  app.use(express.json());",
      },
    ],
  },
  {
    name: "changes of the balance are added up",
    example: "getting-started",
    foundBy: "duplicates",
    patches: [
      { file: "loyalty.ts", find: "  dedupe: memoryDedupe(),\n", replace: "" },
      {
        file: "loyalty.ts",
        find: "SET balance = excluded.balance, at = excluded.at\n  WHERE excluded.at >= balances.at",
        replace: "SET balance = balances.balance + excluded.balance",
      },
      { file: "loyalty.ts", find: "data.passId, data.balance,", replace: "data.passId, data.change," },
    ],
  },
  {
    name: "balances are stored in the order of arrival",
    example: "express",
    foundBy: "reordered",
    patches: [{ file: "shop.ts", find: "if (!isNewest(database, passId, event)) return;", replace: "" }],
  },
  {
    name: "the times of the newest balances are in memory",
    example: "express",
    foundBy: "reordered",
    patches: [
      {
        file: "shop.ts",
        find: "if (!isNewest(database, passId, event)) return;",
        replace: `if ((newest.get(passId) ?? "") > event.createdAt) return;
          newest.set(passId, event.createdAt);`,
      },
      {
        file: "shop.ts",
        find: "export async function openShop({",
        replace: "const newest = new Map<string, string>();\nexport async function openShop({",
      },
    ],
  },
  {
    name: "a delivery is acknowledged before it is stored",
    example: "express",
    foundBy: "killed-deliveries",
    patches: [
      {
        file: "shop.ts",
        find: "expressReceiver({ secret, inbox, ...options })",
        replace: `expressReceiver({
    secret,
    async handler(event) {
      const body = Buffer.from(JSON.stringify(event));
      const stored = { body, receivedAt: new Date() };
      setTimeout(() => inbox.put(event, stored, { signal: AbortSignal.timeout(9_000) }), 500); // a batch in memory
    },
  })`,
      },
    ],
  },
  {
    name: "the page gets the API key",
    example: "express",
    foundBy: "secrets",
    patches: [
      {
        file: "sign-up.ts",
        find: "json({ userId, links: client.cardLinks(publicUrl) })",
        replace: "json({ userId, key: process.env.LOYALTY_API_KEY, links: client.cardLinks(publicUrl) })",
      },
    ],
  },
  {
    name: "a script of the page has the API key",
    example: "express",
    foundBy: "secrets",
    patches: [
      {
        file: "shop.ts",
        find: "  // Above every parser.\n",
        replace: `  app.get("/", (_request, response) => void response.type("html").send('<script src="/app.js"></script>'));
  app.get("/app.js", (_request, response) => void response.type("js").send(process.env.LOYALTY_API_KEY));
`,
      },
    ],
  },
  {
    name: "the receiver responds to a wrong signature with the right secret",
    example: "express",
    foundBy: "secrets",
    patches: [
      {
        file: "shop.ts",
        find: "  // Above every parser.\n",
        replace: `  app.use("/webhooks/loyalty", (request, response, next) => {
    if (request.method === "POST") response.setHeader("expected-secret", secret);
    next();
  });
`,
      },
    ],
  },
];

/** A copy of an example outside the repository, with its packages. */
export function copyExample(name: string): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-mistake-"));
  cpSync(join(root, "examples", name), folder, { recursive: true });
  if (!existsSync(join(folder, "package.json")))
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** @throws when the text of a patch does not stand once in its file. */
export function plant({ name, example, patches }: Mistake): { folder: string; remove(): void } {
  const copy = copyExample(example);
  for (const { file, find, replace } of patches) {
    const path = join(copy.folder, file);
    const parts = readFileSync(path, "utf8").split(find);
    if (parts.length !== 2) throw new Error(`${name}: ${file} contains ${parts.length - 1} times: ${find}`);
    writeFileSync(path, parts.join(replace));
  }
  return copy;
}
