/** An answer with its body in memory, so that nothing can be cut or stall any more. */
import { AttemptFailure } from "./attempt-failure.ts";
import { type IncomingAnswer, UnreadableBody } from "./transport.ts";

/** What the operations answer is a few kilobytes; more than this is not the service talking. */
const maxBytes = 4 * 1024 * 1024;

export interface WholeAnswer {
  status: number;
  head: Pick<IncomingAnswer, "header" | "headers">;
  text: string;
  /** The parsed text of a success, anew for each who asks; undefined when it told nothing. */
  data(): unknown;
}

/**
 * @param onStatus told when the head has come.
 * @throws {AttemptFailure} for a redirect, a success whose body is too large, and a success that is not JSON.
 */
export async function wholeAnswer(
  coming: Promise<IncomingAnswer>,
  method: string,
  onStatus: () => void,
): Promise<WholeAnswer> {
  const answer = await coming;
  onStatus();
  const { status } = answer;
  const isRedirect = status >= 300 && status < 400;
  if (isRedirect || !(status >= 200 && status <= 599)) {
    answer.discard();
    throw unusable(
      isRedirect
        ? "a redirect, which is not followed: is baseUrl the service's own address?"
        : `status ${status}, which there is not.`,
      !isRedirect,
    );
  }
  let text: string;
  try {
    text = await answer.text(maxBytes);
  } catch (error) {
    // The status has said what happened, whatever became of the body that explains it.
    if (status >= 400) return { status, head: answer, text: "", data: () => undefined };
    throw error instanceof UnreadableBody ? unusable(`${error.message}.`, error.retryable) : error;
  }
  let parsed = status < 400 ? parsedJson(text, method) : undefined;
  return {
    status,
    head: answer,
    text,
    data() {
      const own = parsed ?? parsedJson(text, method);
      parsed = undefined;
      return own;
    },
  };
}

function parsedJson(text: string, method: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What a PUT answers is not shown (spec 4.5): whatever it is, the change was made.
    if (method === "PUT") return undefined;
    throw unusable("a success whose body is not JSON.", true);
  }
}

function unusable(what: string, retryable: boolean): AttemptFailure {
  return new AttemptFailure(`The service answered with ${what}`, {
    code: "invalid-response",
    wasSent: true,
    retryable,
  });
}
