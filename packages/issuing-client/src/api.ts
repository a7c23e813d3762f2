/** The escape hatch: the contract's typed client. The only file that knows openapi-fetch. */
import type { paths } from "@loyalty-cards/openapi";
import createClient, { type Client } from "openapi-fetch";
import type { OutgoingRequest } from "./transport.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/** Every path and method of the contract, typed: `api.GET("/passes/{id}", { params })`. */
export type Api = Client<paths>;

/** What a call of the api goes through. */
export type SendForApi = (url: string, request: OutgoingRequest, signal: AbortSignal) => Promise<WholeAnswer>;

export function createApi(baseUrl: string, send: SendForApi): Api {
  return createClient<paths>({
    baseUrl: `${baseUrl}/api/v1`, // spec 9
    async fetch(request) {
      const { method, url, signal } = request;
      const headers = Object.fromEntries(request.headers);
      const body = request.body === null ? {} : { body: await request.text() };
      return responseOf(await send(url, { method, headers, ...body }, signal));
    },
  });
}

function responseOf({ status, head, text }: WholeAnswer): Response {
  const complete = new Headers(head.headers());
  complete.delete("content-length"); // of the body on the wire, which is not this one
  return new Response(text === "" ? null : text, { status, headers: complete });
}
