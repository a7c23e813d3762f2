/** What tables have in common: expectations, groups of operations and calls, and responses. */
import type { ApiResponse, CallEnds, CallName, Reception } from "./row.ts";

/** Every call ends as with the mock service. */
export const asUsual: CallEnds = { calls: [], end: "value" };
/** The receiver handles every event. */
export const handled: Reception = {};

export const cards = ["issueCard", "getCard"] as const;
export const consents = ["getConsent", "setConsent"] as const;

/** The calls that issue a card. */
export const signUps: readonly CallName[] = [
  "signUp",
  "signUpAgain",
  "signUpAtOnce",
  "signUpAtOnceToo",
  "signUpByEmail",
  "signUpCorrected",
  "signUpWithKeySuffix",
  "signUpElsewhere",
  "signUpLater",
  "signUpUnderAnotherKey",
];
/** Every call of issueCard. */
export const issuing: readonly CallName[] = [
  ...signUps,
  "signUpInvalid",
  "archivedTemplate",
  "wrongKey",
];
export const noCard: CallEnds = { calls: [...signUps, "getCard"], end: "invalid-response" };
export const noList: CallEnds = {
  calls: ["listOperations", "listTwoOperations"],
  end: "invalid-response",
};
/** The consent is set, and the client does not learn the new one. */
export const noState: CallEnds = { calls: ["giveConsent", "withdrawConsent"], end: "undefined" };

/** The name in the forms of two sign-ups at once, by which a service recognizes them. */
export const twinName = "Two At Once";

/** A response without a body. */
export const bare = (status: number, headers = {}): ApiResponse => ({
  status,
  headers,
  body: undefined,
});
export const redirect = bare(303, { location: "/api/v1/passes/1" });
export const html = { "content-type": "text/html; charset=utf-8" };

export const problem = (status: number, headers = {}): ApiResponse => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: { type: "about:blank", title: "No", status, detail: "Please call us." },
});

/** Finds personal data and secrets in logged text. */
export const findLeaks = (texts: readonly string[], words: readonly string[]): string[] =>
  texts.filter((text) => words.some((word) => text.includes(word))).map((text) => `leaks: ${text}`);
