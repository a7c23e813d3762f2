/** Makes identifiers that nobody can guess: a prefix that tells what it names, and 95 random bits. */

export type NewIdentifier = (prefix: string) => string;

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const length = 16;
/** The largest multiple of the alphabet below 256: bytes beyond it would favour the first letters. */
const evenly = 256 - (256 % alphabet.length);

export const randomIdentifier: NewIdentifier = (prefix) => {
  let name = "";
  while (name.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      if (byte < evenly && name.length < length) name += alphabet[byte % alphabet.length];
    }
  }
  return `${prefix}_${name}`;
};
