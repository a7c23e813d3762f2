/**
 * `client.api`: typed requests to every path of the service. This is the only file that uses
 * openapi-fetch.
 */
import { parseUrl } from "@loyalty-cards/internal/hostnames";
import type { paths } from "@loyalty-cards/openapi/service";
import createClient, { defaultPathSerializer } from "openapi-fetch";
// The import names the file, so that the build can inline it into our declarations.
import type { Client } from "openapi-fetch/dist/index.d.mts";
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";
import { parseIdempotencyKey } from "./idempotency.ts";
import { getService, parseCallOptions, type Settings } from "./options.ts";
import { parseId } from "./request.ts";
import type { UsableResponse } from "./response.ts";
import { describeMissingFetch } from "./runtime.ts";
import { send } from "./send.ts";

/** The paths of the service's document in this repository, which type `client.api` by default. */
export type { paths };

/** The paths as they are called: without `/api/v1`, which some documents write before each. */
type BelowRoot<Paths> = {
  [Path in keyof Paths as Path extends `/api/v1/${infer Rest}` ? `/${Rest}` : Path]: Paths[Path];
};

/**
 * The typed openapi-fetch client, with every path and method of the service:
 * `api.GET("/passes/{id}", { params })`.
 */
export type Api<Paths extends object> = Client<BelowRoot<Paths>>;

/**
 * Every request is sent by `send`, to an address below `baseUrl`, also with middleware. A `fetch`
 * of one call replaces `send`, and gets no API key.
 */
export function createApi<Paths extends object>(settings: Settings): Api<Paths> {
  if (typeof Request === "undefined") throw configurationError(describeMissingFetch("client.api"));
  const root = `${settings.service?.baseUrl}/api/v1`; // spec 9

  function pathSerializer(path: string, params: Record<string, unknown>): string {
    for (const [name, value] of Object.entries(params))
      if (typeof value !== "number") parseId(`path parameter ${name}`, value);
    return defaultPathSerializer(path, params);
  }

  /**
   * The class of the requests that openapi-fetch creates. It checks the address before it becomes a
   * URL, which would resolve its dot segments.
   */
  const CheckedRequest = new Proxy(Request, {
    construct(target, [address, init]) {
      getService(settings); // a missing address is an error of the first call
      const checked = removeSecondPrefix(root, address);
      checkAddress(root, checked);
      return new target(checked, init);
    },
  });

  async function fetch(request: Request): Promise<Response> {
    const { method, url, signal } = request;
    const given: Record<string, string> = Object.fromEntries(request.headers);
    const { "content-type": contentType, authorization: _, ...headers } = given;
    const callSettings = parseCallOptions({ signal, headers }, settings);
    checkAddress(root, url); // again: a middleware can replace the request by one of its own
    const ownKey = callSettings.headers["idempotency-key"];
    if (ownKey !== undefined) parseIdempotencyKey(ownKey);
    const call: Call<Response> = {
      operation: "api",
      method,
      path: url.slice(callSettings.service.baseUrl.length),
      contentType,
      body: request.body === null ? undefined : await request.text(),
      // The service need not honour a key, except for a card (spec 8): only the caller knows.
      idempotencyKey: ownKey,
      read: (response) => ({ value: toResponse(response) }),
    };
    return send(call, callSettings);
  }

  return createClient<BelowRoot<Paths>>({
    baseUrl: root,
    pathSerializer,
    Request: CheckedRequest,
    fetch,
  });
}

/** Programs without types may copy a path from a document that writes `/api/v1` before each. */
function removeSecondPrefix(root: string, address: string): string {
  const twice = `${root}/api/v1/`;
  return address.startsWith(twice) ? `${root}/${address.slice(twice.length)}` : address;
}

/**
 * @throws {IssuingError} `configuration` for an address that is not below the root, or that a URL
 * would change, as it does with dot segments.
 */
function checkAddress(root: string, address: string): void {
  const [path = ""] = address.slice(root.length).split("?");
  const isBelow = address.startsWith(`${root}/`) && path !== "/" && !path.includes("//");
  // A path parameter without a value leaves its braces.
  const isEncoded = !/[#{}]|%(?![\da-f]{2})/i.test(path);
  if (isBelow && isEncoded && parseUrl(root + path)?.href === root + path) return;
  throw configurationError(
    `client.api sends only to paths below ${root}/, without empty or dot segments and with every path parameter set.`,
  );
}

function toResponse({ status, headers, text, json }: UsableResponse): Response {
  const complete = headers();
  complete.delete("content-length"); // it is the length of the encoded body
  // openapi-fetch returns the body of a failure as `error`. A program takes a missing or an empty
  // one for a success.
  const hasDetails = json === undefined ? text !== "" : Boolean(json);
  if (status >= 400 && !hasDetails) {
    const detail = `The service responded ${status} without details.`;
    const problem = { type: "about:blank", title: `HTTP ${status}`, status, detail };
    complete.set("content-type", "application/problem+json");
    return new Response(JSON.stringify(problem), { status, headers: complete });
  }
  // `Response` accepts no body with these statuses (spec 7).
  const hasBody = text !== "" && status !== 204 && status !== 205;
  return new Response(hasBody ? text : null, { status, headers: complete });
}
