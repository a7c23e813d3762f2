/** Why the service refuses, as a value (spec 7): RFC 9457 problem details. */

export interface MemberFault {
  /** JSON Pointer into the request body. */
  pointer: string;
  /** In a response of the API: a sentence for a person. */
  detail: string;
  /** The rule, for a developer, where the sentence for a person does not tell it. */
  rule?: string;
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

export class Problem {
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly MemberFault[];

  constructor(status: number, detail: string, errors: readonly MemberFault[] = []) {
    this.status = status;
    this.detail = detail;
    this.errors = errors;
  }

  /** A 422: `detail` may be shown to the user (spec 7), so it is the sentences of all faults, each once. */
  static invalid(errors: readonly MemberFault[]): Problem {
    return new Problem(422, [...new Set(errors.map(({ detail }) => detail))].join(" "), errors);
  }

  toJSON(): Record<string, unknown> {
    const { status, detail, errors } = this;
    const members = { type: "about:blank", title: titles[status] ?? "Error", status, detail };
    return errors.length === 0 ? members : { ...members, errors };
  }
}
