/** What an import writes: rejected rows as they were in the input, with the reason; and the card id of each user. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import type { ImportFiles, Source } from "./files.ts";
import { addedColumns, type SourceRecord } from "./records.ts";
import { createEncoder } from "./text.ts";

/** Written beside its final place and moved there at the end, so that a crash leaves the file of the last run as it was. */
class ResultFile {
  readonly #path: string;
  readonly #partPath: string;
  readonly #header: Buffer;
  #descriptor: number | undefined;
  readonly #keepsRows: boolean;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  /** @param keepsRows whether it begins with the rows of the last run. */
  constructor(path: string, header: Buffer, keepsRows = false) {
    this.#path = path;
    this.#partPath = `${path}.part`;
    this.#header = header;
    this.#keepsRows = keepsRows;
  }

  /** Called when this process has locked the checkpoint: another run may use the files before. */
  append(line: Buffer): void {
    this.#descriptor ??= this.#open();
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    if (this.#pendingBytes > 65_536) this.#flush();
  }

  #open(): number {
    rmSync(this.#partPath, { force: true });
    if (this.#keepsRows && existsSync(this.#path)) {
      copyFileSync(this.#path, this.#partPath);
      return openSync(this.#partPath, "a");
    }
    this.#pending.push(this.#header);
    return openSync(this.#partPath, "ax", 0o600); // personal data: for the owner only
  }

  /**
   * Replaces the file of the last run.
   * @param isWhole false keeps the longer of the two files: both have only some rows.
   */
  finish(isWhole: boolean): void {
    if (this.#descriptor === undefined) {
      if (isWhole && !this.#keepsRows) rmSync(this.#path, { force: true }); // there are no rows
      if (isWhole) rmSync(this.#partPath, { force: true }); // of a run that was killed
      return;
    }
    this.#flush();
    const { size } = fstatSync(this.#descriptor);
    if (!isWhole && existsSync(this.#path) && statSync(this.#path).size > size) {
      this.discard();
      return;
    }
    fsyncSync(this.#descriptor);
    closeSync(this.#descriptor);
    renameSync(this.#partPath, this.#path);
    this.#descriptor = undefined;
  }

  /** Leaves the file of the last run. */
  discard(): void {
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    rmSync(this.#partPath);
    this.#descriptor = undefined;
  }

  #flush(): void {
    if (this.#descriptor !== undefined) writeAll(this.#descriptor, Buffer.concat(this.#pending));
    this.#pending = [];
    this.#pendingBytes = 0;
  }
}

/** A disk that becomes full takes the first bytes only, without an error. */
function writeAll(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

export interface Rejection {
  code: string;
  reason: string;
  /** The idempotency key; empty when nothing was sent. */
  key: string;
}

/**
 * At the end of a run, the rejected rows and the card ids get the time of the checkpoint, which a run that is killed changes. A later time
 * of the rejected rows means that somebody edited them. Times are rounded to milliseconds.
 */
export function isEdited({ rejected, cards, checkpoint }: ImportFiles): boolean {
  const [atMs, cardsAtMs, checkpointAtMs] = [rejected, cards, checkpoint].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
  );
  if (atMs === undefined) return false;
  if (cardsAtMs !== undefined) return atMs > cardsAtMs + 1;
  return checkpointAtMs !== undefined && Math.abs(atMs - checkpointAtMs) > 1;
}

export class ResultFiles {
  readonly #files: ImportFiles;
  readonly #wasEdited: boolean;
  readonly #rejected: ResultFile;
  readonly #cards: ResultFile;
  readonly #isRetry: boolean;
  readonly #formatRejected: (record: SourceRecord, rejection: Rejection) => Buffer;
  readonly #formatCard: (userId: string, cardId: string) => Buffer;

  /** @param isRetry the input is the file of rejected rows. */
  constructor(files: ImportFiles, { text, records }: Source, isRetry: boolean) {
    const { rejected, cards } = files;
    this.#files = files;
    this.#wasEdited = isEdited(files);
    const encode = createEncoder(text.encoding);
    const { delimiter, endOfLine, format } = records;
    const mark = text.hasByteOrderMark ? "\ufeff" : "";
    const toLine = (cells: readonly string[]) => encode(`${cells.join(delimiter)}${endOfLine}`);
    const quote = (cell: string) => (/^[\w-]*$/.test(cell) ? cell : `"${cell.replaceAll('"', '""')}"`);
    if (format === "csv") {
      this.#rejected = new ResultFile(
        rejected,
        Buffer.concat([encode(mark), toLine([records.header, ...addedColumns])]),
      );
      this.#cards = new ResultFile(
        cards,
        Buffer.concat([encode(mark), toLine(["user_id", "card_id"])]),
        isRetry,
      );
      this.#formatRejected = (record, rejection) =>
        toLine([record.raw, ...toAddedValues(record, rejection).map((value) => quote(String(value)))]);
      this.#formatCard = (userId, cardId) => toLine([quote(userId), quote(cardId)]);
    } else {
      this.#rejected = new ResultFile(rejected, encode(mark));
      this.#cards = new ResultFile(cards, encode(mark), isRetry);
      this.#formatRejected = (record, rejection) => encode(`${addMembers(record, rejection)}${endOfLine}`);
      this.#formatCard = (userId, cardId) =>
        encode(`${JSON.stringify({ user_id: userId, card_id: cardId })}${endOfLine}`);
    }
    this.#isRetry = isRetry;
  }

  addRejected(record: SourceRecord, rejection: Rejection): void {
    this.#rejected.append(this.#formatRejected(record, rejection));
  }

  addCard(userId: string, cardId: string): void {
    this.#cards.append(this.#formatCard(userId, cardId));
  }

  /** @param isWhole false when the run ended before the last row. Rows that a retry did not reach stay in the file of rejected rows. */
  finish(isWhole: boolean): void {
    const { rejected, cards, checkpoint } = this.#files;
    const isCut = this.#isRetry && !isWhole;
    if (isCut) this.#rejected.discard();
    else this.#rejected.finish(isWhole);
    this.#cards.finish(isWhole);

    const atMs = statSync(checkpoint, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    setTime(cards, atMs);
    // A person's corrections stay later: the next import must not replace them.
    setTime(rejected, isCut && this.#wasEdited ? atMs + 1_000 : atMs);
  }
}

function setTime(path: string, atMs: number): void {
  if (existsSync(path)) utimesSync(path, atMs / 1_000, atMs / 1_000);
}

/** The values of the added columns. A row that is rejected again keeps its line in the first input. */
function toAddedValues(record: SourceRecord, { code, reason, key }: Rejection): unknown[] {
  return [record.read(addedColumns[0]) ?? record.line, code, reason.replace(/[\s\p{Cc}]+/gu, " "), key];
}

/** The JSON of a record as it was, with more members at its end. */
function addMembers(record: SourceRecord, rejection: Rejection): string {
  const values = toAddedValues(record, rejection);
  const added = JSON.stringify(Object.fromEntries(addedColumns.map((name, index) => [name, values[index]])));
  if (record.malformed !== undefined)
    return `{"rejected_text":${JSON.stringify(record.raw)},${added.slice(1)}`;
  const object = record.raw.trimEnd().slice(0, -1).trimEnd();
  return `${object}${object.endsWith("{") ? "" : ","}${added.slice(1)}`;
}
