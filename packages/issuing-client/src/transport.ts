/** The typed client of the contract. The only file that knows openapi-fetch; replacing that is a change of this file. */
import type { paths } from "@loyalty-cards/openapi";
import createClient, { type Client } from "openapi-fetch";
import type { Fetch } from "./attempt.ts";

/** Every path and method of the contract, typed: `api.GET("/passes/{id}", { params })`. */
export type Api = Client<paths>;

/**
 * What openapi-fetch makes of a call. Not the runtime's Request: making one costs as much as half a call, consumes the
 * body, and even touching the global slows the import.
 */
class PlainRequest {
  readonly url: string;

  constructor(url: string, init: object) {
    this.url = url;
    Object.assign(this, init);
  }
}

/** @param fetch what a call of the api goes through, unless it brings its own. */
export function createApi(baseUrl: string, fetch: Fetch): Api {
  return createClient<paths>({
    baseUrl: `${baseUrl}/api/v1`, // spec 9
    Request: PlainRequest as unknown as typeof Request,
    fetch: plainly(fetch),
  });
}

/** Takes the plain request apart again: its address, and itself as the options. */
export function plainly(fetch: Fetch): (request: Request) => Promise<Response> {
  return (request) => fetch(request.url, request as unknown as RequestInit);
}

type RequestInit = NonNullable<Parameters<Fetch>[1]>;
