/** The consents of a row. Each is explicit: a wrong guess would be a consent that was not given. */
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import {
  combine,
  type FieldReading,
  type MappedRecord,
  readText,
  toProblem,
} from "./mapped-record.ts";
import type { MappingOptions } from "./mapping.ts";

type Consents = IssueCardRequest["customer"]["consents"];

export function readConsents(
  mapped: MappedRecord,
  options: MappingOptions,
): FieldReading<Consents> {
  const readings = combine({
    version: readPrivacyVersion(mapped, options.privacy),
    optsIn: readMarketing(mapped),
  });
  if (readings.failure !== undefined) return readings;
  const { version, optsIn } = readings.value;
  const privacy = { version };
  if (!optsIn) return { value: { privacy } };
  const { marketingVersion } = options;
  return { value: { privacy, marketing: marketingVersion ? { version: marketingVersion } : {} } };
}

const toAnswer = (text: string): "yes" | "no" | "unclear" => {
  if (/^(?:yes|true|1)$/i.test(text)) return "yes";
  return /^(?:no|false|0)?$/i.test(text) ? "no" : "unclear";
};
const unclear = "must be yes, true or 1, or no, false, 0 or empty";

/**
 * Reads the version of the privacy text that the member accepted. Without one there is no card
 * (spec 2.4).
 * @param version that of all members who accepted the text. Without it, the column has the version.
 */
function readPrivacyVersion(
  mapped: MappedRecord,
  version: string | undefined,
): FieldReading<string> {
  if (version && !mapped.mapping.has("privacy")) return { value: version };
  const reading = readText(mapped, "privacy");
  if (reading.failure !== undefined) return reading;
  const fail = (code: string, message: string) => ({
    failure: [toProblem(mapped, code, message, "privacy")],
  });
  const missing = "is not accepted: a card needs this consent";
  const answer = toAnswer(reading.value);
  if (version) {
    // The column says whether the member accepted this version.
    if (answer === "yes") return { value: version };
    return answer === "no" ? fail("missing-consent", missing) : fail("unclear-consent", unclear);
  }
  // The column has the version.
  if (reading.value === "") return fail("missing-consent", missing);
  if (answer === "unclear") return reading;
  return fail("unclear-consent", "is yes or no, and not the version: add --privacy VERSION");
}

/** Reads whether the member opted in to news and offers. */
function readMarketing(mapped: MappedRecord): FieldReading<boolean> {
  const reading = readText(mapped, "marketing");
  if (reading.failure !== undefined) return reading;
  const answer = toAnswer(reading.value);
  if (answer !== "unclear") return { value: answer === "yes" };
  return { failure: [toProblem(mapped, "unclear-consent", unclear, "marketing")] };
}
