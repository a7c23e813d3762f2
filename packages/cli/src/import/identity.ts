/** Who the member of a row is: the id in the shop, and how the service finds the customer. */
import type { Target } from "./mapping.ts";
import { idDamages, type Row } from "./row.ts";

/** Each value is undefined when it has a problem. */
export type Identity = Record<"userId" | "phone" | "email" | "name", string | undefined>;

export const readIdentity = (row: Row): Identity => ({
  userId: readUserId(row),
  phone: readIdentifier(row, "phone", "is not a phone number"),
  email: readIdentifier(row, "email", "is not an email address"),
  name: row.readText("name"),
});

function readUserId(row: Row): string | undefined {
  const userId = readIdentifier(row, "userId", "is too long or not Unicode");
  if (userId === "") row.addProblem({ code: "missing", message: "is missing" }, "userId");
  return userId;
}

const isValid = {
  userId: (text: string) => text.length <= 255 && text.isWellFormed(),
  phone: (text: string) => /^(?:\+|00)?\d{4,15}$/.test(text.replace(/[\s().\-/]/g, "")),
  email: (text: string) =>
    text.length <= 254 && /^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@.,;<>"]+$/.test(text),
};

/** Reads a text that identifies the member, or is empty. */
function readIdentifier(
  row: Row,
  target: Target & keyof typeof isValid,
  message: string,
): string | undefined {
  const text = row.readText(target, idDamages);
  if (text === undefined) return undefined;
  // Two values can look the same and differ in an invisible character.
  const invisible = /[\p{Cc}\p{Cf}]/u.exec(text)?.[0];
  if (invisible === undefined && (text === "" || isValid[target](text))) return text;
  if (invisible === undefined) row.addProblem({ code: `invalid-${target}`, message }, target);
  else row.addProblem(describeInvisible(invisible), target);
  return undefined;
}

function describeInvisible(character: string) {
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return { code: "invisible", message: `has an invisible character (U+${code}): remove it` };
}
