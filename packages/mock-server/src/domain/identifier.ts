/** Makes identifiers that nobody can guess: a prefix that tells what it names, and 95 random bits. */

export type NewIdentifier = (prefix: string) => string;

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const length = 16;
/** The largest multiple of the alphabet below 256: bytes beyond it would favour the first letters. */
const evenly = 256 - (256 % alphabet.length);

/** Random bytes are fetched by the page: a call for each identifier would cost more than making the card. */
const pool = new Uint8Array(4_096);
let used = pool.length;

export const randomIdentifier: NewIdentifier = (prefix) => {
  let name = "";
  while (name.length < length) {
    if (used === pool.length) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const byte = pool[used++] as number;
    if (byte < evenly) name += alphabet[byte % alphabet.length];
  }
  return `${prefix}_${name}`;
};
