/** Reads `judge.json` of an integration: how to start it, its sign-up form, its receiver, and where its members are stored. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** How the sign-up form is sent: as JSON, or as a browser sends it. */
const formTypes = ["json", "form", "multipart"] as const;

export interface Settings {
  /** The command line that starts the shop, which a shell runs in the folder. */
  start: string;
  signUp: {
    method: string;
    path: string;
    type: (typeof formTypes)[number];
    /** The values of the form; `{name}`, `{email}` and `{phone}` are replaced. */
    fields: Readonly<Record<string, string>>;
    /** The path of the page with the form: its hidden fields and its cookies are sent with the form. */
    page?: string;
  };
  /** Where a corrected form is sent. Default: to the sign-up. `{userId}` is that member of the response to the form. */
  correction?: { method: string; path: string };
  /** The path that receives webhooks. */
  receiver: string;
  members: MembersPath | MembersQuery;
  /** `postgres`: the judge creates an empty database for the run. */
  database?: "postgres";
  /** A JSON file with `templates`, as for `loyalty-cards exec --seed`. */
  seed?: string;
  /** How long a restarted shop can take to finish what a killed one began: longer than the leases of its queue. Default 60. */
  recoverySeconds: number;
}

/** A path that returns all members as JSON, and where the values are in it: `card.id` is the member `id` of the member `card`. */
interface MembersPath {
  path: string;
  list: string;
  email: string;
  card: string;
  balance: string;
  effects: string;
}

/** A query with the columns `email`, `card` and `balance`, and if the shop counts purchases, `effects`. */
interface MembersQuery {
  sql: string;
}

/** The folder cannot be judged; the message says why, and what to do. */
export class SettingsError extends Error {}

/** @throws {SettingsError} that names the member which is missing or wrong. */
export function readSettings(folder: string): Settings {
  const file = join(folder, "judge.json");
  if (!existsSync(file))
    throw new SettingsError(
      `${file} does not exist: docs/guides/testing.md#judge-a-whole-shop says what it contains.`,
    );
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new SettingsError(`${file} is not JSON: ${(error as Error).message}`);
  }
  try {
    return parseSettings(json);
  } catch (error) {
    throw error instanceof SettingsError ? new SettingsError(`${file}: ${error.message}`) : error;
  }
}

function parseSettings(json: unknown): Settings {
  const all = new Members(json, "judge.json");
  const signUp = new Members(all.take("signUp"), "signUp");
  const fields = new Members(signUp.take("fields"), "signUp.fields");
  const members = new Members(all.take("members"), "members");
  const correction = all.has("correction") ? new Members(all.take("correction"), "correction") : undefined;
  const recoverySeconds = all.take("recoverySeconds", 60);
  if (typeof recoverySeconds !== "number" || !(recoverySeconds > 0))
    throw new SettingsError("recoverySeconds must be a number of seconds above 0.");
  const settings: Settings = {
    start: all.text("start"),
    signUp: {
      method: signUp.text("method", "POST"),
      path: signUp.path("path"),
      type: signUp.choice("type", formTypes, "json"),
      fields: Object.fromEntries(fields.names().map((name) => [name, fields.text(name)])),
      ...(signUp.has("page") && { page: signUp.path("page") }),
    },
    ...(correction && {
      correction: { method: correction.text("method", "POST"), path: correction.path("path") },
    }),
    receiver: all.path("receiver"),
    members: members.has("sql")
      ? { sql: members.text("sql") }
      : {
          path: members.path("path"),
          list: members.text("list", ""),
          email: members.text("email", "email"),
          card: members.text("card", "card"),
          balance: members.text("balance", "balance"),
          effects: members.text("effects", "effects"),
        },
    ...(all.has("database") && { database: all.choice("database", ["postgres"], "postgres") }),
    ...(all.has("seed") && { seed: all.text("seed") }),
    recoverySeconds,
  };
  for (const each of [all, signUp, fields, members, correction]) each?.requireNoOthers();
  if (!Object.values(settings.signUp.fields).some((value) => value.includes("{email}")))
    throw new SettingsError(
      "signUp.fields needs a field with {email}: members are recognized by their email address.",
    );
  return settings;
}

/** The members of an object, of which each is taken once. */
class Members {
  readonly #values: Map<string, unknown>;
  readonly #where: string;
  /** The names that were asked for. */
  readonly #known = new Set<string>();

  constructor(value: unknown, where: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new SettingsError(`${where} must be an object.`);
    this.#values = new Map(Object.entries(value));
    this.#where = where;
  }

  has(name: string): boolean {
    this.#known.add(name);
    return this.#values.has(name);
  }

  names = (): string[] => [...this.#values.keys()];

  take(name: string, standard?: unknown): unknown {
    this.#known.add(name);
    const value = this.#values.get(name) ?? standard;
    if (value === undefined) throw new SettingsError(`${this.#where} has no member "${name}".`);
    this.#values.delete(name);
    return value;
  }

  text(name: string, standard?: string): string {
    const value = this.take(name, standard);
    if (typeof value !== "string") throw new SettingsError(`"${name}" in ${this.#where} must be text.`);
    return value;
  }

  path(name: string): string {
    const value = this.text(name);
    if (!value.startsWith("/")) throw new SettingsError(`"${name}" in ${this.#where} must begin with "/".`);
    return value;
  }

  choice<Value extends string>(name: string, values: readonly Value[], standard: Value): Value {
    const value = this.text(name, standard);
    const found = values.find((each) => each === value);
    if (found === undefined)
      throw new SettingsError(`"${name}" in ${this.#where} must be one of ${values.join(", ")}.`);
    return found;
  }

  requireNoOthers(): void {
    const [unknown] = this.#values.keys();
    if (unknown === undefined) return;
    const known = [...this.#known].join(", ");
    throw new SettingsError(`${this.#where} has an unknown member "${unknown}". It can have ${known}.`);
  }
}
