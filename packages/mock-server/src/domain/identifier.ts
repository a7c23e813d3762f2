/** Makes identifiers that nobody can guess: a prefix that tells what it names, and 95 random bits. */

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
