/** What is wrong with a request body, from what the compiled schemas found: a sentence for a person, the rule for a developer. */
import type { ValidationError, Validator } from "@loyalty-cards/openapi/validators";
import type { MemberFault } from "./problem.ts";

/** @param labelOf what people call the field with this key. */
export function faultsOf(
  validator: Validator<unknown>,
  labelOf: (key: string) => string = (key) => key,
): MemberFault[] {
  return (validator.errors ?? []).map((error) => {
    const pointer = pointerOf(error);
    return { pointer, detail: sentenceFor(pointer, labelOf), rule: ruleOf(error, pointer) };
  });
}

function pointerOf({ instancePath, keyword, params }: ValidationError): string {
  return keyword === "required" ? `${instancePath}/${params["missingProperty"]}` : instancePath;
}

/** The first that matches. */
const sentences: readonly [RegExp, string][] = [
  [/^\/customer\/phone$/, "The phone number is not valid."],
  [/^\/customer\/email$/, "The e-mail address is not valid."],
  [/^\/customer\/name$/, "The name is not valid."],
  [/^\/customer\/consents\/marketing|^\/marketing$/, "Please choose whether you want news and offers."],
  [/^\/customer\/consents/, "Please accept the privacy policy."],
  // What no visitor can correct: the program that sends the form is wrong, and `rule` says how.
  [/^/, "This form does not work at the moment. Please contact the shop."],
];

/** spec 7: `detail` is suitable to show to the user. */
function sentenceFor(pointer: string, labelOf: (key: string) => string): string {
  const [, key] = /^\/fieldValues\/(.*)$/s.exec(pointer) ?? [];
  if (key !== undefined) {
    return `Please enter text or a number for "${labelOf(key.replaceAll("~1", "/").replaceAll("~0", "~"))}".`;
  }
  return sentences.find(([pattern]) => pattern.test(pointer))?.[1] ?? "";
}

function ruleOf({ keyword, params, message }: ValidationError, pointer: string): string {
  const name = pointer === "" ? "The body" : `"${pointer.slice(1).replaceAll("/", ".")}"`;
  if (keyword === "required") return `${name} is missing.`;
  if (keyword === "pattern") return `${name} must not be blank.`;
  if (keyword === "type") return `${name} must be of type ${String(params["type"]).replaceAll(",", " or ")}.`;
  return `${name} ${message}.`;
}
