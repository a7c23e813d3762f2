/** The page with a sign-up form: what a browser sends beside the visible fields. */
export interface Page {
  hidden: [string, string][];
  cookie: string;
}

/** The hidden fields of the page's forms, and its cookies. */
export function readPage({ text, headers }: { text: string; headers?: Headers }): Page {
  const entities: Record<string, string> = {
    "&quot;": '"',
    "&#x27;": "'",
    "&#39;": "'",
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
  };
  const decode = (value: string) => value.replace(/&[#\w]+;/g, (entity) => entities[entity] ?? entity);
  const hidden: [string, string][] = [];
  for (const [input] of text.matchAll(/<input\b[^>]*>/gi)) {
    const read = (name: string) => new RegExp(`\\b${name}="([^"]*)"`, "i").exec(input)?.[1];
    const name = read("name");
    if (read("type") === "hidden" && name !== undefined)
      hidden.push([decode(name), decode(read("value") ?? "")]);
  }
  const cookies = headers?.getSetCookie() ?? [];
  return { hidden, cookie: cookies.map((cookie) => cookie.split(";")[0]).join("; ") };
}
