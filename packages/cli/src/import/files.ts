/** The files of an import: the input, and beside it the outbox, the rejected rows and the card ids. */
import { accessSync, constants, createReadStream, lstatSync, statSync } from "node:fs";
import { basename, dirname, extname, resolve } from "node:path";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { type Format, openRecords, type RecordSource } from "./records.ts";
import { openText, type TextSource } from "./text.ts";

export interface FileOptions {
  format?: Format;
  delimiter?: string;
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
}

export interface ImportFiles {
  input: Input;
  outbox: string;
  rejected: string;
  cards: string;
}

export function resolveInput({ cwd }: Context["terminal"], file: string, { format }: FileOptions): Input {
  if (file === "") throw new CommandError("The name of the file is empty.");
  const isNdjson = /\.(?:ndjson|jsonl)$/i.test(file);
  return {
    path: file === "-" ? file : resolve(cwd, file),
    name: file === "-" ? "standard input" : basename(file),
    format: format ?? (isNdjson ? "ndjson" : "csv"),
  };
}

/** @throws {CommandError} for files that would overwrite each other, and for standard input when the others have no names. */
export function resolveFiles(terminal: Context["terminal"], file: string, options: FileOptions): ImportFiles {
  const { outbox = `${file}.outbox`, rejected, cards } = options;
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

/** @throws {CommandError} for a path that exists and is not a file, such as a symbolic link. */
export function requireFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  const kind = found.isDirectory() ? "a folder" : found.isSymbolicLink() ? "a symbolic link" : "not a file";
  throw new CommandError(`${basename(path)} is ${kind}: move it away.`);
}

/** @throws {CommandError} for a list that does not exist. */
export function requireInput({ path, name }: Input): void {
  const found = path === "-" ? "stdin" : statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new CommandError(`There is no file ${name}.`);
  if (found !== "stdin" && found.isDirectory()) throw new CommandError(`${name} is a folder, not a file.`);
}

/** The part of a command that reads the list, before anything is sent. */
export interface Reading {
  /** Aborted at Ctrl-C, with the error that ends the command. */
  signal: AbortSignal;
  /** From now on Ctrl-C has another effect. @throws {CommandError} when it was pressed before. */
  end(): void;
}

export function startReading(terminal: Context["terminal"]): Reading {
  const stopping = new AbortController();
  const { signal } = stopping;
  const removeListener = terminal.onInterrupt(() => {
    removeListener(); // a second Ctrl-C ends the process
    const message = "Interrupted while the list was read: nothing was sent. Run the same command again.";
    stopping.abort(new CommandError(message, { exitCode: exitCodes.interrupted }));
    terminal.stdin.unref?.(); // a read can still be waiting
  });
  return {
    signal,
    end() {
      removeListener();
      signal.throwIfAborted();
    },
  };
}

export interface Source {
  text: TextSource;
  records: RecordSource;
}

/** @throws {CommandError} for a file that does not exist or is not text, and when the reading is interrupted. */
export async function openSource(
  { terminal, print }: Pick<Context, "terminal" | "print">,
  input: Input,
  { delimiter }: FileOptions,
  { signal }: Reading,
): Promise<Source> {
  const { path, name, format } = input;
  requireInput(input);
  const isStdin = path === "-";
  if (isStdin && terminal.stdin.isTTY) print.info("Reading standard input. Ctrl-D ends it.");
  const bytes = isStdin ? terminal.stdin : readBytes(path, name);
  const text = await openText(readUntilAborted(bytes, signal), name);
  return { text, records: await openRecords(text, { name, format, delimiter }) };
}

async function* readBytes(path: string, name: string): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CommandError(`${name} cannot be read (${code}).`);
  }
}

/** Yields the chunks until the signal is aborted, also while a chunk is awaited. @throws the reason of the signal. */
async function* readUntilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const iterator = chunks[Symbol.asyncIterator]();
  let stop = (_reason: unknown) => {};
  signal.addEventListener("abort", () => stop(signal.reason));
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        stop = reject;
        iterator.next().then(resolve, reject);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    const closed = iterator.return?.();
    if (!signal.aborted) await closed; // otherwise the read for the next chunk is still waiting
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
