/** Makes identifiers that nobody can guess: a prefix that tells what it names, and 96 random bits. */

export type NewIdentifier = (prefix: string) => string;

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

export const randomIdentifier: NewIdentifier = (prefix) => {
  let name = `${prefix}_`;
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) name += alphabet[byte & 63];
  return name;
};
