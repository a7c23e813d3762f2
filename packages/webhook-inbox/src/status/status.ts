/** What the status page answers, whichever framework carries it. */
import type { InspectableInbox } from "../health.ts";
import { pageOf } from "./page.ts";

/** Who may see the page. */
export interface StatusPageOptions<Request> {
  /**
   * Who may look and replay. `"elsewhere"`: something before this handler has checked it. Without it everybody may look,
   * nobody may replay, and the log and the page say so.
   */
  authorize?: ((request: Request) => boolean | Promise<boolean>) | "elsewhere";
  /** Default "Webhook inbox". */
  title?: string;
  /** Default `console.error`. */
  log?: (message: string) => void;
}

export interface StatusRequest<Request> {
  method: string;
  /** The query of the address. A function, like all that a request can break: it is called once the guard agreed. */
  query(): URLSearchParams;
  header(lowerCaseName: string): string | undefined;
  /** The form of a POST; at most `maxFormBytes` are read. */
  form(): Promise<URLSearchParams>;
  /** What `authorize` is asked about. */
  original: Request;
}

export interface StatusAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export const maxFormBytes = 16 * 1024;

const shown = 50;

const always = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

export function statusAnswers<Request>(inbox: InspectableInbox, options: StatusPageOptions<Request> = {}) {
  const { authorize, title = "Webhook inbox", log = console.error } = options;
  const isGuarded = authorize !== undefined;
  if (authorize !== undefined && authorize !== "elsewhere" && typeof authorize !== "function")
    throw new TypeError('authorize must be a function that tells who may look, or "elsewhere".');
  if (!isGuarded) {
    log(
      "webhook-inbox: the status page is mounted without a guard, so everybody who knows its address may look. " +
        'Give it { authorize }, or { authorize: "elsewhere" } when something before it checks who asks.',
    );
  }

  async function answer(request: StatusRequest<Request>): Promise<StatusAnswer> {
    const isAllowed = typeof authorize !== "function" || (await authorize(request.original)) === true;
    if (!isAllowed) return text(403, "You may not see this page.");
    if (request.method === "GET" || request.method === "HEAD") return page(request.query().has("replayed"));
    if (request.method === "POST") return replay(request);
    return { ...text(405, "This page takes GET and POST."), headers: { ...plain, allow: "GET, HEAD, POST" } };
  }

  async function page(isReplayed: boolean): Promise<StatusAnswer> {
    const health = await inbox.health();
    const list = async (state: "dead" | "waiting") =>
      health.isReachable ? inbox.list({ state, limit: shown }) : [];
    const [dead, waiting] = await Promise.all([list("dead"), list("waiting")]);
    // Nothing of the address is shown: anybody can write an address.
    const notice = isReplayed
      ? { notice: "The dead letter has its attempts back, and waits for its handler." }
      : {};
    const facts = {
      title,
      now: new Date(),
      health,
      dead,
      waiting: waiting.slice(0, 10),
      isGuarded,
      ...notice,
    };
    const headers = { ...always, "content-type": "text/html; charset=utf-8" };
    return { status: health.isReachable ? 200 : 503, headers, body: pageOf(facts) };
  }

  async function replay(request: StatusRequest<Request>): Promise<StatusAnswer> {
    if (!isGuarded) return text(403, "Replay is off, because this page has no guard.");
    if (!comesFromHere(request)) return text(403, "This form was sent by another site.");
    const id = (await request.form()).get("id");
    if (id === null) return text(400, "The form has no id.");
    if (!(await inbox.replay(id)))
      return text(404, "There is no such dead letter; perhaps somebody replayed it already.");
    return {
      status: 303,
      headers: { ...plain, location: "?replayed" },
      body: "",
    };
  }

  return async (request: StatusRequest<Request>): Promise<StatusAnswer> => {
    try {
      return await answer(request);
    } catch {
      return text(503, "The inbox, or the guard of this page, failed."); // why may be nobody's business out here
    }
  };
}

const plain = { ...always, "content-type": "text/plain; charset=utf-8" };
const text = (status: number, body: string): StatusAnswer => ({ status, headers: plain, body });

/** A browser says where a form comes from; another site must not click our buttons for somebody who is logged in. */
function comesFromHere({ header }: Pick<StatusRequest<unknown>, "header">): boolean {
  const site = header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = header("origin");
  if (origin === undefined) return true; // no browser
  return URL.canParse(origin) && new URL(origin).host === header("host");
}
