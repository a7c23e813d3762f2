/** The service's own name for a request. Which header carries it is not specified; these are the customary ones. */
export function requestIdOf(headers: Headers): string | undefined {
  return headers.get("x-request-id") ?? headers.get("request-id") ?? undefined;
}
