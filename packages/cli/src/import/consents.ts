/** The consents of a row. Each is explicit: a wrong guess would be a consent that was not given. */
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import type { MappingOptions } from "./mapping.ts";
import type { Row } from "./row.ts";

type Consents = IssueCardRequest["customer"]["consents"];

export function readConsents(
  row: Row,
  { privacy: version, marketingVersion }: MappingOptions,
): Consents {
  const privacy = { version: readPrivacyVersion(row, version) };
  if (!readMarketing(row)) return { privacy };
  return { privacy, marketing: marketingVersion ? { version: marketingVersion } : {} };
}

const toAnswer = (text: string): "yes" | "no" | "unclear" => {
  if (/^(?:yes|true|1)$/i.test(text)) return "yes";
  return /^(?:no|false|0)?$/i.test(text) ? "no" : "unclear";
};
const unclear = "must be yes, true or 1, or no, false, 0 or empty";

type ConsentProblem = Parameters<Row["addProblem"]>[0];

const notAccepted: ConsentProblem = {
  code: "missing-consent",
  message: "is not accepted: a card needs this consent",
};

/**
 * Reads the version of the privacy text that the member accepted. Without one there is no card
 * (spec 2.4).
 * @param version that of all members who accepted the text, and then the column says who did.
 * Without it, the column has the version.
 * @returns an empty text for a row with a problem.
 */
function readPrivacyVersion(row: Row, version: string | undefined): string {
  if (version && !row.mapping.has("privacy")) return version;
  const text = row.readText("privacy");
  if (text === undefined) return "";
  const problem = version ? findAnswerProblem(text) : findVersionProblem(text);
  if (problem === undefined) return version || text;
  row.addProblem(problem, "privacy");
  return "";
}

/** A column that says who accepted the text. */
function findAnswerProblem(text: string): ConsentProblem | undefined {
  const answer = toAnswer(text);
  if (answer === "yes") return undefined;
  return answer === "no" ? notAccepted : { code: "unclear-consent", message: unclear };
}

/** A column that has the version. */
function findVersionProblem(text: string): ConsentProblem | undefined {
  if (text === "") return notAccepted;
  // An answer such as `f`, `nein` or `n/a` has no digit.
  if (/\d/.test(text) && toAnswer(text) === "unclear") return undefined;
  const message = "is no version such as 2026-01: for a column of yes or no add --privacy VERSION";
  return { code: "unclear-consent", message };
}

/** Reads whether the member opted in to news and offers. */
function readMarketing(row: Row): boolean {
  const answer = toAnswer(row.readText("marketing") ?? "");
  if (answer === "unclear")
    row.addProblem({ code: "unclear-consent", message: unclear }, "marketing");
  return answer === "yes";
}
