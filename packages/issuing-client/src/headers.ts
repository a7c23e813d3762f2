/** The headers that a program may add to requests. */
import { configurationError } from "./errors.ts";

/** Headers of the connection and of the body, which the client or the transport sets. */
const reservedHeaders =
  /^(connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

/**
 * @returns names in lower case, and values without surrounding white space.
 * @throws {IssuingError} `configuration`, without a value.
 */
export function parseHeaders(headers: Record<string, string>): Record<string, string> {
  // `Headers` and Map have no entries for Object.entries.
  if (Object.prototype.toString.call(headers) !== "[object Object]")
    throw configurationError(
      "headers must be a plain object. Of others, pass Object.fromEntries(headers).",
    );
  const parsed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (reservedHeaders.test(name.toLowerCase()))
      throw configurationError(
        `headers must not have ${JSON.stringify(name)}: the client or the connection sets it.`,
      );
    if (name.toLowerCase() === "authorization")
      throw configurationError('headers must not have "authorization": use the option apiKey.');
    if (value === undefined || value === null)
      throw configurationError(`headers has no value for ${JSON.stringify(name)}: leave it out.`);
    const text = String(value).trim();
    // `Headers` would check them, but takes ten times as long to load as this package. node:http
    // accepts no control characters.
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text))
      throw configurationError(
        `headers has an invalid entry, ${JSON.stringify(name)}: a name or value contains characters that are not allowed.`,
      );
    parsed[name.toLowerCase()] = text;
  }
  return parsed;
}
