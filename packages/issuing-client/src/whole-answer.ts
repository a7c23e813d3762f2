/** An answer with its body in memory, so that nothing can be cut or stall any more. */
import { AttemptFailure } from "./attempt-failure.ts";

/** What the operations answer is a few kilobytes; more than this is not the service talking. */
const maxBytes = 4 * 1024 * 1024;

export interface WholeAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed text of a success; undefined when it told nothing. */
  data: unknown;
}

/** @throws {AttemptFailure} for a redirect, a body that is too large, and a success that is not JSON. */
export async function wholeAnswer(response: Response, method: string | undefined): Promise<WholeAnswer> {
  const { status, headers } = response;
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    discard(response);
    throw new AttemptFailure(
      "The service answered with a redirect, which is not followed: is baseUrl the service's own address?",
      { code: "invalid-response", wasSent: true, retryable: false },
    );
  }
  if (!(status >= 200 && status <= 599)) {
    discard(response);
    throw new AttemptFailure(`The service answered with status ${status}, which there is not.`, {
      code: "invalid-response",
      wasSent: true,
    });
  }
  const text = await textOf(response);
  if (status >= 400) return { status, headers, text, data: undefined };
  const parsed = parsedJson(text);
  // What a PUT answers is not shown (spec 4.5): whatever it is, the change was made.
  if (parsed === undefined && method !== "PUT") {
    throw new AttemptFailure(`The service answered ${status}, but the body is not JSON.`, {
      code: "invalid-response",
      wasSent: true,
    });
  }
  return { status, headers, text, data: parsed?.value };
}

function parsedJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Nobody waits for the rest. */
function discard(response: Response): void {
  response.body?.cancel?.().catch(() => {});
}

async function textOf(response: Response): Promise<string> {
  const announced = response.headers.get("content-length");
  const isSmall =
    announced !== null && Number(announced) <= maxBytes && !response.headers.has("content-encoding");
  if (isSmall || response.body === null) return response.text();

  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let [text, length] = ["", 0];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.byteLength;
    if (length > maxBytes) {
      reader.cancel().catch(() => {});
      throw new AttemptFailure(`The service answered with more than ${maxBytes} bytes.`, {
        code: "invalid-response",
        wasSent: true,
        retryable: false,
      });
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}
