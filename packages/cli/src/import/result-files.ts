/** What an import writes: rejected rows as they were in the input, with the reason; and the card id of each user. */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename } from "node:path";
import { CommandError, exitCodes } from "../command-error.ts";
import { type ImportFiles, requireFile, type Source } from "./files.ts";
import { parseObject } from "./records.ts";
import { createEncoder } from "./text.ts";

/** A row that was rejected, or whose outcome is unknown. */
export interface RejectedRow {
  /** The text of the row in the input. */
  raw: string;
  /** The line in the input. */
  line: number;
  code: string;
  reason: string;
  /** The idempotency key; empty when nothing was sent. */
  key: string;
}

/** The columns after those of the input. */
const addedColumns = ["rejected_line", "rejected_code", "rejected_reason", "rejected_key"] as const;

export interface IssuedRow {
  userId: string;
  cardId: string;
}

/** The header of each file, and the format of its lines. */
export interface ResultFormat {
  rejectedHeader: Buffer;
  formatRejected(row: RejectedRow): Buffer;
  cardsHeader: Buffer;
  formatCard(row: IssuedRow): Buffer;
}

/** Creates the format of the results from that of the input, so that the same programs can read both. */
export function createFormat({ text, records }: Source): ResultFormat {
  const { delimiter, endOfLine, format, header } = records;
  const encode = createEncoder(text.encoding);
  const mark = encode(text.hasByteOrderMark ? "\ufeff" : "");
  if (format === "ndjson") {
    const toLine = (json: string) => encode(`${json}${endOfLine}`);
    return {
      rejectedHeader: mark,
      formatRejected: (row) => toLine(addMembers(row)),
      cardsHeader: mark,
      formatCard: ({ userId, cardId }) => toLine(JSON.stringify({ user_id: userId, card_id: cardId })),
    };
  }
  const toLine = (cells: readonly string[]) => encode(`${cells.join(delimiter)}${endOfLine}`);
  const quote = (cell: unknown) =>
    /^[\w-]*$/.test(String(cell)) ? String(cell) : `"${String(cell).replaceAll('"', '""')}"`;
  return {
    rejectedHeader: Buffer.concat([mark, toLine([header, ...addedColumns])]),
    formatRejected: (row) => toLine([row.raw, ...toAddedValues(row).map(quote)]),
    cardsHeader: Buffer.concat([mark, toLine(["user_id", "card_id"])]),
    formatCard: ({ userId, cardId }) => toLine([quote(userId), quote(cardId)]),
  };
}

const toAddedValues = ({ line, code, reason, key }: RejectedRow): unknown[] => [line, code, reason, key];

/** Returns the original JSON of a record, with the added members at its end. */
function addMembers(row: RejectedRow): string {
  const values = toAddedValues(row);
  const added = JSON.stringify(Object.fromEntries(addedColumns.map((name, index) => [name, values[index]])));
  if (parseObject(row.raw) === undefined)
    return `{"rejected_text":${JSON.stringify(row.raw)},${added.slice(1)}`;
  const object = row.raw.trimEnd().slice(0, -1).trimEnd();
  return `${object}${object.endsWith("{") ? "" : ","}${added.slice(1)}`;
}

export type ResultName = "cards" | "rejected";

/** Returns the hash of a file, by which a run recognizes its own results; undefined when the file does not exist. */
function hashFile(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(65_536);
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    for (let length = 1; length > 0; ) {
      length = readSync(descriptor, chunk);
      hash.update(chunk.subarray(0, length));
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest("base64url");
}

/** The two result files of a run. They are replaced only if no other program has written them meanwhile. */
export class ResultFiles {
  readonly #files: ImportFiles;
  readonly #before: Readonly<Record<ResultName, string | undefined>>;

  constructor(files: ImportFiles) {
    this.#files = files;
    this.#before = { cards: hashFile(files.cards), rejected: hashFile(files.rejected) };
  }

  /**
   * @param known the hashes of what earlier runs of this import have written.
   * @throws {CommandError} for a file that this import did not write, or that was changed since.
   */
  check(known: readonly string[]): void {
    for (const name of ["rejected", "cards"] as const) {
      const hash = this.#before[name];
      if (hash === undefined || known.includes(hash)) continue;
      const file = basename(this.#files[name]);
      throw new CommandError(
        known.length > 0 && name === "rejected"
          ? `${file} was edited after the last run, and this run would replace it: move it away. Corrections belong in ${this.#files.input.name}.`
          : `${file} exists, and is not the result of this import: move it away.`,
      );
    }
  }

  /**
   * Writes a temporary file and renames it: after a crash the result of the last run is unchanged.
   * @param temporaryName unique to the import, so that no other import writes to it.
   * @param store called with the hash of the new file before it is renamed.
   */
  async replace<Row>(
    name: ResultName,
    temporaryName: string,
    header: Buffer,
    pages: Iterable<readonly Row[]>,
    format: (row: Row) => Buffer,
    store: (hash: string) => Promise<void>,
  ): Promise<void> {
    const path = this.#files[name];
    const temporaryFile = `${path}.${temporaryName}.part`;
    rmSync(temporaryFile, { force: true }); // left by a run that was killed
    const hash = createHash("sha256");
    let descriptor: number | undefined;
    try {
      for (const page of pages) {
        const bytes = Buffer.concat([...(descriptor === undefined ? [header] : []), ...page.map(format)]);
        descriptor ??= openSync(temporaryFile, "ax", 0o600); // personal data: for the owner only
        hash.update(bytes);
        writeAll(descriptor, bytes);
      }
      if (descriptor !== undefined) {
        fsyncSync(descriptor);
        await store(hash.digest("base64url"));
      }
      requireFile(path);
      if (hashFile(path) !== this.#before[name]) throw createConflict(basename(path));
      if (descriptor === undefined) rmSync(path, { force: true });
      else renameSync(temporaryFile, path);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
      rmSync(temporaryFile, { force: true });
    }
  }
}

const createConflict = (file: string) =>
  new CommandError(
    `${file} was written by another program while the import ran, and was left as it is. Move it away, and run the same command again: no row gets a second card.`,
    { exitCode: exitCodes.stopped },
  );

/** Writes all bytes: when a disk becomes full, one call writes only the first bytes, without an error. */
function writeAll(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}
