/** The files of an import: the input, and beside it the outbox, the rejected rows and the card ids. */
import { accessSync, constants, createReadStream, lstatSync } from "node:fs";
import { basename, dirname, extname, resolve } from "node:path";
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { type Format, openRecords, type RecordSource } from "./records.ts";
import { type Encoding, openText, type TextSource } from "./text.ts";

export interface FileOptions {
  format?: Format;
  delimiter?: string;
  encoding?: Encoding;
  outbox?: string;
  rejected?: string;
  cards?: string;
}

export interface Input {
  /** A path, or `-` for standard input. */
  path: string;
  /** The name in messages. */
  name: string;
  format: Format;
  /** For a file of rejected NDJSON: the members of the first record of the import, so that both files have the same mapping. */
  columns?: readonly string[];
}

export interface ImportFiles {
  input: Input;
  outbox: string;
  rejected: string;
  cards: string;
}

export function resolveInput({ cwd }: Context["terminal"], file: string, { format }: FileOptions): Input {
  const isNdjson = /\.(?:ndjson|jsonl)$/i.test(file);
  return {
    path: file === "-" ? file : resolve(cwd, file),
    name: file === "-" ? "standard input" : basename(file),
    format: format ?? (isNdjson ? "ndjson" : "csv"),
  };
}

/** @throws {CommandError} for files that would overwrite each other, and for standard input when the others have no names. */
export function resolveFiles(terminal: Context["terminal"], file: string, options: FileOptions): ImportFiles {
  const { outbox = getOutboxName(file), rejected, cards } = options;
  if (file === "-" && (options.outbox === undefined || rejected === undefined || cards === undefined)) {
    throw new CommandError(
      "Standard input has no name for the files beside it: use --outbox FILE, --rejected FILE and --cards FILE.",
    );
  }
  const input = resolveInput(terminal, file, options);
  const extension = extname(file);
  const stem = file.slice(0, file.length - extension.length);
  const path = (name: string) => resolve(terminal.cwd, name);
  const files: ImportFiles = {
    input,
    outbox: path(outbox),
    rejected: path(rejected ?? `${stem}.rejected${extension}`),
    cards: path(cards ?? `${stem}.cards${extension}`),
  };
  const paths = [input.path, files.outbox, files.rejected, files.cards];
  if (new Set(paths).size < paths.length)
    throw new CommandError("The input, --outbox, --rejected and --cards must be four different files.");
  for (const name of [...listOutboxFiles(files), files.rejected, files.cards]) requireFile(name);
  return files;
}

/** The outbox, and the files that SQLite creates beside it. */
export const listOutboxFiles = ({ outbox }: ImportFiles): string[] =>
  ["", "-journal", "-wal", "-shm"].map((suffix) => `${outbox}${suffix}`);

export const getOutboxName = (file: string): string => `${file}.outbox`;

/** @throws {CommandError} for a path that exists and is not a file, such as a symbolic link. */
export function requireFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  const kind = found.isDirectory() ? "a folder" : found.isSymbolicLink() ? "a symbolic link" : "not a file";
  throw new CommandError(`${basename(path)} is ${kind}: move it away.`);
}

export interface Source {
  text: TextSource;
  records: RecordSource;
}

/** @throws {CommandError} for a file that does not exist or is not text. */
export async function openSource(
  terminal: Context["terminal"],
  { path, name, format, columns }: Input,
  { encoding, delimiter }: FileOptions,
): Promise<Source> {
  const bytes = path === "-" ? terminal.stdin : readBytes(path, name);
  const text = await openText(bytes, name, encoding);
  const records = await openRecords(text, { name, format, delimiter });
  return { text, records: { ...records, ...(columns && { columns }) } };
}

async function* readBytes(path: string, name: string): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new CommandError(`There is no file ${name}.`);
    if (code === undefined) throw error;
    throw new CommandError(`${name} cannot be read (${code}).`);
  }
}

/** @throws {CommandError} for a folder that cannot be written to. */
export function checkFolders({ outbox, rejected, cards }: ImportFiles): void {
  for (const path of [outbox, rejected, cards]) {
    try {
      accessSync(dirname(path), constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new CommandError(
        `${basename(path)} cannot be written to its folder (${code}): name files in other folders with --outbox, --rejected and --cards.`,
      );
    }
  }
}
