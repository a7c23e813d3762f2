/** Recorded deliveries: one JSON file each, with the headers and the exact bytes of the body. Only the owner can read them. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CommandError } from "../command-error.ts";

const format = "loyalty-cards/delivery";

export interface Recording {
  /** ISO 8601. */
  receivedAt: string;
  /** In the order and spelling in which they arrived. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Uint8Array;
  /** Why it was rejected; absent for a verified delivery. */
  rejected?: string | undefined;
}

/** Does not use `recursive`, which never returns for a folder in /proc with Node.js 20. */
function createFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(folder);
  if (parent !== folder) createFolder(parent);
  mkdirSync(folder, { mode: 0o700 });
}

/** Creates the folder, and returns a function that writes one file and returns its name. */
export function createRecorder(folder: string): (recording: Recording) => string {
  createFolder(folder);
  let count = 0;
  return ({ receivedAt, headers, body, rejected }) => {
    count += 1;
    // Sorts by time. No part of the name comes from the delivery.
    const name = `${receivedAt.replaceAll(":", "-")}-${String(count).padStart(5, "0")}.json`;
    const value = {
      format,
      receivedAt,
      ...(rejected && { rejected }),
      headers,
      bodyBase64: Buffer.from(body).toString("base64"),
    };
    writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    return name;
  };
}

/** The recordings of a file, or of a folder in the order of their arrival. @throws {CommandError} for a file that `listen --record` did not write. */
export function readRecordings(path: string): (Recording & { name: string })[] {
  try {
    if (!statSync(path).isDirectory()) return [readRecording(path)];
    const names = readdirSync(path).filter((name) => name.endsWith(".json"));
    return names.sort().map((name) => readRecording(join(path, name)));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`"${path}" cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

function readRecording(file: string): Recording & { name: string } {
  const text = readFileSync(file, "utf8");
  let value: Record<string, unknown> = {};
  try {
    value = JSON.parse(text) ?? {};
  } catch {
    // rejected below
  }
  const { receivedAt, headers, bodyBase64, rejected } = value;
  const isValid =
    value["format"] === format &&
    typeof receivedAt === "string" &&
    typeof bodyBase64 === "string" &&
    Array.isArray(headers) &&
    headers.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string"),
    );
  if (!isValid)
    throw new CommandError(
      `"${file}" is not a delivery that \`loyalty-cards webhook listen --record\` wrote.`,
    );
  const reason = typeof rejected === "string" ? rejected : undefined;
  return {
    name: basename(file),
    receivedAt,
    headers,
    body: Buffer.from(bodyBase64, "base64"),
    rejected: reason,
  };
}

/** The value of a header; undefined when it is absent or there are several. */
export function findHeader({ headers }: Pick<Recording, "headers">, name: string): string | undefined {
  const values = headers.filter(([key]) => key.toLowerCase() === name);
  return values.length === 1 ? values[0]?.[1] : undefined;
}
