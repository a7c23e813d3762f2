/** The status page, independent of the framework: authorization, the form, and the protections of both. */
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { type PageContent, renderPage } from "./html.ts";
import type { StatusForm, StatusSource } from "./source.ts";

/** Who may use the page, and its title. @inline */
export interface StatusPageOptions<Request> {
  /**
   * Decides who may view the page and use its buttons. `"external"`: a middleware before this handler has authorized the request. Without
   * it everyone may view the page, the buttons are off, and a log line and the page say so.
   */
  authorize?: ((request: Request) => boolean | Promise<boolean>) | "external";
  /** Default "Webhook inbox" or "Card outbox". */
  title?: string;
  /** Default `console.error`. */
  log?: (message: string) => void;
}

export interface StatusRequest<Request> {
  method: string;
  /** The query of the URL. A function, because a malformed request can make it throw: called only for an authorized request. */
  query(): URLSearchParams;
  header(lowerCaseName: string): string | undefined;
  /** The body of a POST: its chunks, or what a parser made of them. */
  body(): AsyncIterable<Uint8Array> | Record<string, unknown>;
  /** The argument of `authorize`. */
  original: Request;
}

export interface StatusResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Enough for a selection of everything that the page shows. */
const maxFormBytes = 256 * 1024;

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/** The page has one script. A nonce for styles would not do: the script parses the next page, and that one has another nonce. */
const pagePolicy = (nonce: string) =>
  `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;

export function createStatusHandler<Request>(source: StatusSource, options: StatusPageOptions<Request> = {}) {
  const { authorize, title = source.title, log = console.error } = options;
  const hasAuthorization = authorize !== undefined;
  if (authorize !== undefined && authorize !== "external" && typeof authorize !== "function")
    throw new TypeError(
      'authorize must be a function that returns whether the request is allowed, or "external".',
    );
  if (!hasAuthorization) {
    log(
      "webhook-inbox: the status page is mounted without authorization, so everyone who knows its URL can view it. " +
        'Set { authorize }, or { authorize: "external" } if a middleware before it authorizes requests.',
    );
  }

  async function respond(request: StatusRequest<Request>): Promise<StatusResponse> {
    const isAllowed = typeof authorize !== "function" || (await authorize(request.original)) === true;
    if (!isAllowed) return text(403, "You are not allowed to view this page.");
    if (request.method === "GET" || request.method === "HEAD") {
      const query = request.query();
      const done = Object.keys(source.notices).find((name) => query.has(name)) ?? "";
      const [changed, selected] = [toCount(query.get(done)), toCount(query.get("of"))];
      return page(200, { notice: source.notices[done]?.(changed, selected) });
    }
    if (request.method === "POST") return act(request);
    return {
      ...text(405, "This page accepts GET and POST."),
      headers: { ...plain, allow: "GET, HEAD, POST" },
    };
  }

  async function page(
    status: number,
    messages: Pick<PageContent, "notice" | "problem">,
  ): Promise<StatusResponse> {
    const nonce = crypto.randomUUID();
    const content = await source.read();
    const body = renderPage({ ...messages, title, nonce, now: new Date(), content, hasAuthorization });
    const headers = {
      ...securityHeaders,
      "content-security-policy": pagePolicy(nonce),
      "content-type": "text/html; charset=utf-8",
    };
    return { status: content.unreachable === undefined ? status : 503, headers, body };
  }

  async function act(request: StatusRequest<Request>): Promise<StatusResponse> {
    if (!hasAuthorization) return text(403, "The buttons are off because this page has no authorization.");
    if (!isSameOrigin(request)) return text(403, "This form was sent by another site.");
    const form = await readForm(request.body());
    if (form === undefined) return text(413, "This form is too long.");
    const result = await source.act(form);
    if ("status" in result) return page(result.status, { problem: result.message });
    const { done, changed, selected } = result;
    return { status: 303, headers: { ...plain, location: `?${done}=${changed}&of=${selected}` }, body: "" };
  }

  return async (request: StatusRequest<Request>): Promise<StatusResponse> => {
    try {
      return await respond(request);
    } catch {
      return text(503, `The ${source.name} or the authorization of this page failed.`); // the error may contain internal details
    }
  };
}

/** A number of the URL, which may be any text. */
const toCount = (text: string | null) => Math.trunc(Math.abs(Number(text))) || 0;

/** @returns undefined when the form is too long. */
async function readForm(body: ReturnType<StatusRequest<unknown>["body"]>): Promise<StatusForm | undefined> {
  if (isIterable(body)) {
    const bytes = await readBounded(body, maxFormBytes);
    return bytes && new URLSearchParams(new TextDecoder().decode(bytes));
  }
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const each of Array.isArray(value) ? value : [value])
      if (typeof each === "string") form.append(name, each);
  }
  return form;
}

const isIterable = (body: object): body is AsyncIterable<Uint8Array> => Symbol.asyncIterator in body;

const plain = { ...securityHeaders, "content-type": "text/plain; charset=utf-8" };
const text = (status: number, body: string): StatusResponse => ({ status, headers: plain, body });

/** Prevents cross-site request forgery: a browser sends the origin of a form. */
function isSameOrigin({ header }: Pick<StatusRequest<unknown>, "header">): boolean {
  const site = header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = header("origin");
  if (origin === undefined) return true; // not a browser
  return URL.canParse(origin) && new URL(origin).host === header("host");
}
