/** Makes identifiers: random ones that nobody can guess, and event ids that sort in the order of their creation. */

export type NewIdentifier = (prefix: string) => string;

const alphabet = codesOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
const length = 16;
/** The largest multiple of the alphabet below 256: bytes beyond it would favour the first letters. */
const evenly = 256 - (256 % alphabet.length);

/** Random bytes are fetched by the page: a call for each identifier would cost more than making the card. */
const pool = new Uint8Array(4_096);
let used = pool.length;

export const randomIdentifier: NewIdentifier = (prefix) => {
  // Letter by letter into one string: the engine keeps what is added up with + in pieces, and there are millions.
  const codes = codesOf(`${prefix}_`);
  const end = codes.length + length;
  while (codes.length < end) {
    if (used === pool.length) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const byte = pool[used++] as number;
    if (byte < evenly) codes.push(alphabet[byte % alphabet.length] as number);
  }
  return String.fromCharCode(...codes);
};

function codesOf(text: string): number[] {
  const codes: number[] = [];
  for (let index = 0; index < text.length; index++) codes.push(text.charCodeAt(index));
  return codes;
}

/** Ids of events: compared as plain strings they sort in the order in which they were made. */
export interface EventIds {
  next(): string;
  /** The next ids sort after this one too, which another service made. What is no such id changes nothing. */
  continueAfter(id: string | undefined): void;
  /** The newest of them. */
  newest(): string | undefined;
}

/** Milliseconds since 1970 in base 36 until the year 5188, then a counter; digits and lower-case letters sort alike everywhere. */
const [timeLength, countLength] = [9, 6];
const maxTimeMs = 36 ** timeLength - 1;
const sortableId = new RegExp(`^evt_([0-9a-z]{${timeLength}})([0-9a-z]{${countLength}})_`);

/**
 * `evt_`, the time, a counter of the events of that millisecond, and what `newIdentifier` adds to keep it unique.
 * While the clock stands or is behind the newest id, the time stays and the counter goes on.
 */
export function createEventIds(nowMs: () => number, newIdentifier: NewIdentifier): EventIds {
  let [timeMs, count] = [-1, 0];
  let newest: string | undefined;
  return {
    next() {
      const atMs = Math.min(Math.max(0, Math.floor(nowMs())), maxTimeMs);
      if (atMs > timeMs) [timeMs, count] = [atMs, 0];
      else count += 1;
      newest = newIdentifier(`evt_${digits(timeMs, timeLength)}${digits(count, countLength)}`);
      return newest;
    },
    continueAfter(id) {
      const [, time = "", counted = ""] = sortableId.exec(id ?? "") ?? [];
      if (time === "" || (newest !== undefined && id !== undefined && id < newest)) return;
      [timeMs, count, newest] = [Number.parseInt(time, 36), Number.parseInt(counted, 36), id];
    },
    newest: () => newest,
  };
}

const digits = (value: number, length: number) => value.toString(36).padStart(length, "0");
