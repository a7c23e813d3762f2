/** The escape hatch: the contract's typed client. The only file that knows openapi-fetch. */
import type { paths } from "@loyalty-cards/openapi";
import createClient, { defaultPathSerializer } from "openapi-fetch";
import type { Client } from "openapi-fetch/dist/index.d.mts"; // by its file, which the build can inline into our declarations
import { configurationError } from "./errors.ts";
import { checkedId } from "./identifier.ts";
import { checkedHeaders } from "./request.ts";
import type { OutgoingRequest } from "./transport.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/** Every path and method of the contract, typed: `api.GET("/passes/{id}", { params })`. */
export type Api = Client<paths>;

/** What a call of the api goes through. */
export type SendForApi = (url: string, request: OutgoingRequest, signal: AbortSignal) => Promise<WholeAnswer>;

/** Whatever a call or a middleware says, nothing leaves but by `send`, to an address below `baseUrl`. */
export function createApi(baseUrl: string, send: SendForApi): Api {
  const root = `${baseUrl}/api/v1`; // spec 9

  const client = createClient<paths>({
    baseUrl: root,
    async fetch(request) {
      const { method, url, signal } = request;
      const { "content-type": contentType, ...others } = Object.fromEntries(request.headers);
      const headers = checkedHeaders(others);
      if (contentType !== undefined) headers["content-type"] = contentType;
      checkAddress(root, url); // again, for a middleware may have put another request in its place
      const body = request.body === null ? {} : { body: await request.text() };
      return responseOf(await send(url, { method, headers, ...body }, signal));
    },
  });

  const call = client.request as (method: string, path: string, init: CallInit) => Promise<unknown>;
  const request = async (method: string, path: string, init?: CallInit) =>
    call(method, path, guardedInit(root, init));
  const api: Record<string, unknown> = { ...client, request };
  for (const method of ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"]) {
    api[method] = (path: string, init?: CallInit) => request(method, path, init);
  }
  return api as unknown as Api;
}

interface CallInit {
  baseUrl?: unknown;
  fetch?: unknown;
  params?: { path?: Record<string, unknown> };
  pathSerializer?: (pathname: string, params: Record<string, unknown>) => string;
}

/** The same options, with an address that is checked as it is written: once it is a URL, its dot segments are gone. */
function guardedInit(root: string, init: CallInit = {}): CallInit {
  for (const name of ["baseUrl", "fetch"] as const) {
    if (init[name] === undefined) continue;
    throw configurationError(
      `client.api takes no ${name} for a single call, which could lead it to another address: create another client.`,
    );
  }
  const { params, pathSerializer = defaultPathSerializer } = init;
  return {
    ...init,
    params: { ...params, path: params?.path ?? {} },
    pathSerializer(pathname, pathParams) {
      for (const [name, value] of Object.entries(pathParams)) {
        if (typeof value !== "number") checkedId(`path parameter ${name}`, value);
      }
      const address = pathSerializer(pathname, pathParams);
      checkAddress(root, address);
      return address;
    },
  };
}

/** @throws {IssuingError} `configuration` for an address that is not below the root, or would climb out of its path. */
function checkAddress(root: string, address: string): void {
  const [path = ""] = address.slice(root.length).split("?");
  const [first, ...segments] = path.split("/");
  const isBelow = address.startsWith(root) && first === "" && segments.length > 0;
  if (isBelow && segments.every(isSegment)) return;
  throw configurationError(
    `client.api sends only to paths below ${root}/, without empty or dot segments and with every path parameter given.`,
  );
}

/** The methods take it as an id, and a URL leaves it as it is: that drops white space, and reads a backslash as a slash. */
function isSegment(segment: string): boolean {
  if (/[\\#{}\s\p{Cc}]/u.test(segment)) return false;
  try {
    checkedId("path", decodeURIComponent(segment));
    return true;
  } catch {
    return false;
  }
}

function responseOf({ status, head, text }: WholeAnswer): Response {
  const complete = new Headers(head.headers());
  complete.delete("content-length"); // of the body on the wire, which is not this one
  return new Response(text === "" ? null : text, { status, headers: complete });
}
