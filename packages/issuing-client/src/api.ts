/** `client.api`: typed requests to every path of the service. The only file that uses openapi-fetch. */
import type { paths } from "@loyalty-cards/openapi";
import createClient, { defaultPathSerializer } from "openapi-fetch";
import type { Client } from "openapi-fetch/dist/index.d.mts"; // by its file, which the build can inline into our declarations
import { configurationError } from "./errors.ts";
import { parseIdempotencyKey } from "./idempotency.ts";
import { getService, parseCallOptions, parseId, type Settings } from "./options.ts";
import type { UsableResponse } from "./response.ts";
import { send } from "./send.ts";

/** The typed openapi-fetch client, with every path and method of the service: `api.GET("/passes/{id}", { params })`. */
export type Api = Client<paths>;

/** Every request is sent by `send`, to an address below `baseUrl`. Options of a call and middleware cannot change that. */
export function createApi(settings: Settings): Api {
  const { baseUrl } = getService(settings);
  const root = `${baseUrl}/api/v1`; // spec 9

  async function fetch(request: Request): Promise<Response> {
    const { method, url, signal } = request;
    const { "content-type": contentType, ...headers } = Object.fromEntries(request.headers);
    const options = parseCallOptions({ signal, headers }, settings);
    checkAddress(root, url); // again, because a middleware can replace the request
    const ownKey = options.headers["idempotency-key"];
    if (ownKey !== undefined) parseIdempotencyKey(ownKey);
    const call = {
      operation: "api",
      method,
      path: url.slice(baseUrl.length),
      contentType,
      body: request.body === null ? undefined : await request.text(),
      // Every POST has one, because it could not be retried without.
      idempotencyKey: method === "POST" ? (ownKey ?? crypto.randomUUID()) : undefined,
    } as const;
    return send(settings, call, options, (response) => ({ value: toResponse(response) }));
  }

  /** Validates the address before it becomes a URL, which would resolve its dot segments. */
  const CheckedRequest = new Proxy(Request, {
    construct(target, [address, init]) {
      checkAddress(root, address);
      return new target(address, init);
    },
  });

  function pathSerializer(path: string, params: Record<string, unknown>): string {
    for (const [name, value] of Object.entries(params))
      if (typeof value !== "number") parseId(`path parameter ${name}`, value);
    return defaultPathSerializer(path, params);
  }

  return createClient<paths>({ baseUrl: root, fetch, Request: CheckedRequest, pathSerializer });
}

/** @throws {IssuingError} `configuration` for an address that is not below the root, or that a URL would change, as it does with dot segments. */
function checkAddress(root: string, address: string): void {
  const [path = ""] = address.slice(root.length).split("?");
  const isBelow = address.startsWith(`${root}/`) && path !== "/" && !path.includes("//");
  if (isBelow && !/[#{}]|%(?![\da-f]{2})/i.test(path) && toHref(root + path) === root + path) return;
  throw configurationError(
    `client.api sends only to paths below ${root}/, without empty or dot segments and with every path parameter set.`,
  );
}

const toHref = (address: string) => (URL.canParse(address) ? new URL(address).href : undefined);

function toResponse({ status, headers, text }: UsableResponse): Response {
  const complete = headers();
  complete.delete("content-length"); // it is the length of the encoded body
  const hasBody = text !== "" && status !== 204 && status !== 205; // `Response` accepts none with these (spec 7)
  return new Response(hasBody ? text : null, { status, headers: complete });
}
