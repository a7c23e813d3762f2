/** Calls the control API, and the public API where the console acts as a website. */

import { pageSize } from "./address.js";

const control = new URL("../_mock/", import.meta.url);
const publicApi = new URL("../api/v1/", import.meta.url);

/** An error response of the service, with its message. */
export class RequestError extends Error {
  constructor(problem) {
    super(problem.detail ?? problem.title ?? "The service responded with an error.");
    /** `[{ pointer, detail }]` of the invalid members. */
    this.errors = problem.errors ?? [];
    this.status = problem.status;
  }
}

export function controlUrl(path, query = {}) {
  const url = new URL(path, control);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

export const get = (path, query) => send("GET", controlUrl(path, query));

/** Reads the page of a list that `state.offset` names, or the last page when the list is shorter. */
export async function getPage(path, state, query) {
  const read = () => get(path, { ...query, offset: state.offset, limit: pageSize });
  const list = await read();
  if (list.items.length > 0 || list.total === 0) return list;
  state.offset = Math.floor((list.total - 1) / pageSize) * pageSize;
  return read();
}

export const post = (path, body) => send("POST", controlUrl(path), body);
export const put = (path, body) => send("PUT", controlUrl(path), body);
export const update = (path, body) => send("PATCH", controlUrl(path), body);
export const remove = (path) => send("DELETE", controlUrl(path));

/** A call of the public API, as the server of a website makes it. */
export const callAsWebsite = (method, path, apiKey, body) =>
  send(method, new URL(path, publicApi), body, { authorization: `Bearer ${apiKey}` });

async function send(method, url, body, headers = {}) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new RequestError({ detail: "The service does not respond. Is it still running?" });
  });
  const text = await response.text();
  const content = text === "" ? undefined : parse(text);
  if (!response.ok) throw new RequestError({ status: response.status, ...content });
  return content;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 200) };
  }
}
