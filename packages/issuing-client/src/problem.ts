/** Reads what the service says about a failure, whatever form it has. */

/** RFC 9457 problem details; every other member is kept as it came. */
export interface ProblemDetails {
  type: string;
  status: number;
  title?: string;
  detail?: string;
  [member: string]: unknown;
}

/**
 * Makes a problem of any body: an error page, an empty body or JSON of another kind becomes the plainest there is.
 * @param text the body as it came.
 * @param status the HTTP status, which is the truth where the body says otherwise.
 */
export function readProblem(status: number, text: string): ProblemDetails {
  const members = parsedObject(text);
  for (const name of ["title", "detail"]) {
    if (typeof members[name] !== "string") delete members[name];
  }
  return { ...members, type: typeof members["type"] === "string" ? members["type"] : "about:blank", status };
}

function parsedObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}
