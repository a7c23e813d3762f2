/** The files of `@loyalty-cards/contract`: the document, a JSON Schema per event, the signature vectors, and request collections. */
import {
  getProperty,
  isRecord,
  type Json,
  recordIn,
  resolved,
  resolvePointer,
} from "../../packages/cli/src/drift/document.ts";

/** A vector of `openapi/vectors/signatures.json`. */
interface Vector {
  name: string;
  body: string;
  secrets: readonly string[];
  header?: string | readonly string[];
  nowSeconds: number;
  toleranceSeconds?: number;
  verdict: string;
}

/** @returns the content of each file by its name in the package. */
export function contractFiles(document: Json, vectors: readonly Vector[]): Record<string, string> {
  const files: Record<string, unknown> = {
    "openapi.json": document,
    "signatures.json": signatures(vectors),
    "postman.json": postmanCollection(document),
  };
  for (const type of Object.keys(recordIn(document, "webhooks")))
    files[`events/${type}.json`] = eventSchema(document, type);
  return {
    ...Object.fromEntries(
      Object.entries(files).map(([name, value]) => [name, `${JSON.stringify(value, null, 2)}\n`]),
    ),
    "requests.http": httpFile(document),
  };
}

/** The first version of the format, described in the README of the package. Every vector has every member. */
const signatures = (vectors: readonly Vector[]) => ({
  version: 1,
  vectors: vectors.map(
    ({ name, body, secrets, header = [], nowSeconds, toleranceSeconds = 300, verdict }) => ({
      name,
      body,
      secrets,
      header: [header].flat(),
      nowSeconds,
      toleranceSeconds,
      ...(verdict === "valid" ? { verdict } : { verdict: "invalid", reason: verdict }),
    }),
  ),
});

const schemaIds = "https://loyalty-cards.github.io/loyalty-cards/contract/events/";

/** The schema of an event, with everything that it refers to in `$defs`. */
function eventSchema(document: Json, type: string): Json {
  const { summary, requestBody } = recordIn(recordIn(recordIn(document, "webhooks"), type), "post");
  const media = recordIn(recordIn(requestBody, "content"), "application/json");
  const definitions: Record<string, unknown> = {};

  const standalone = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(standalone);
    if (!isRecord(node)) return node;
    return Object.fromEntries(
      Object.entries(node).flatMap(([keyword, value]): [string, unknown][] => {
        if (keyword === "$ref") return [["$ref", define(String(value))]];
        if (keyword === "x-extensible-enum") return [["examples", value]]; // an open set: known values only
        return keyword.startsWith("x-") ? [] : [[keyword, standalone(value)]];
      }),
    );
  };
  const define = (reference: string): string => {
    const name = reference.split("/").at(-1) ?? "";
    if (!Object.hasOwn(definitions, name)) {
      definitions[name] = undefined; // a schema may refer to itself
      definitions[name] = standalone(resolvePointer(document, reference));
    }
    return `#/$defs/${name}`;
  };

  const schema = standalone(resolved(document, media["schema"])) as Json;
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `${schemaIds}${type}.json`,
    title: summary,
    ...schema,
    examples: exampleValues(document, media).map(([, value]) => value),
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  };
}

/** The examples of a media type, with their summaries. */
const exampleValues = (document: Json, media: unknown): [summary: string, value: unknown][] =>
  Object.entries(recordIn(media, "examples")).map(([name, example]) => {
    const { summary = name, value } = resolved(document, example);
    return [String(summary), value];
  });

/** A request of the API, with variables such as `{{cardId}}` in place of the parameters. */
interface ApiRequest {
  id: string;
  tag: string;
  summary: string;
  description: string;
  method: string;
  /** Below the base URL. */
  path: string;
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  body: string | undefined;
  responses: { status: number; summary: string; mediaType: string; value: unknown }[];
}

const methods = ["get", "post", "put", "patch", "delete"];

function apiRequests(document: Json): { requests: ApiRequest[]; variables: Map<string, string> } {
  const [server] = document["servers"] as [{ url: string }];
  const { origin, pathname: prefix } = new URL(server.url);
  const variables = new Map<string, string>([
    ["baseUrl", origin],
    ["apiKey", "YOUR_API_KEY"],
  ]);
  const requests = Object.entries(recordIn(document, "paths")).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = getProperty(item, method);
      return isRecord(operation)
        ? [toRequest(document, { method, path: prefix + path, operation }, variables)]
        : [];
    }),
  );
  return { requests, variables };
}

function toRequest(
  document: Json,
  { method, path, operation }: { method: string; path: string; operation: Json },
  variables: Map<string, string>,
): ApiRequest {
  const request: ApiRequest = {
    id: String(operation["operationId"]),
    tag: String((operation["tags"] as unknown[] | undefined)?.[0] ?? ""),
    summary: String(operation["summary"] ?? ""),
    description: String(operation["description"] ?? ""),
    method: method.toUpperCase(),
    path,
    query: [],
    headers: [],
    body: undefined,
    responses: [],
  };
  for (const reference of (operation["parameters"] ?? []) as Json[]) {
    const parameter = resolved(document, reference);
    const [name, example] = [String(parameter["name"]), String(parameter["example"] ?? "")];
    const component =
      String(reference["$ref"] ?? name)
        .split("/")
        .at(-1) ?? name;
    const variable = component.charAt(0).toLowerCase() + component.slice(1);
    if (parameter["in"] === "query") {
      request.query.push([name, example]);
      continue;
    }
    variables.set(variable, example);
    if (parameter["in"] === "header") request.headers.push([name, `{{${variable}}}`]);
    else request.path = request.path.replace(`{${name}}`, `{{${variable}}}`);
  }
  const [body] = exampleValues(
    document,
    recordIn(recordIn(resolved(document, operation["requestBody"]), "content"), "application/json"),
  );
  if (body !== undefined) {
    request.headers.push(["Content-Type", "application/json"]);
    request.body = JSON.stringify(body[1], null, 2);
  }
  for (const [status, response] of Object.entries(recordIn(operation, "responses"))) {
    for (const [mediaType, media] of Object.entries(recordIn(resolved(document, response), "content"))) {
      for (const [summary, value] of exampleValues(document, media)) {
        const code = Number(/^\d+$/.test(status) ? status : getProperty(value, "status")); // 5XX is not a status
        request.responses.push({ status: code, summary, mediaType, value });
      }
    }
  }
  return request;
}

/** For the HTTP clients of editors: REST Client for VS Code, and that of the JetBrains IDEs. */
function httpFile(document: Json): string {
  const { requests, variables } = apiRequests(document);
  const parts = requests.map(({ id, summary, method, path, query, headers, body, responses }) => {
    const search = query.map(([name, value]) => `${name}=${value}`).join("&");
    const lines = [
      `### ${summary}`,
      `# @name ${id}`,
      `# Responds ${responses[0]?.status}.`,
      `${method} {{baseUrl}}${path}${search === "" ? "" : `?${search}`}`,
      "Authorization: Bearer {{apiKey}}",
      ...headers.map(([name, value]) => `${name}: ${value}`),
    ];
    return [...lines, ...(body === undefined ? [] : ["", body])].join("\n");
  });
  const head = [
    "# Requests to the Loyalty Card Issuing Service, for the HTTP clients of VS Code and of the JetBrains IDEs.",
    "# Set the variables first; cardId is the id in the response of issueCard. Do not commit an API key.",
    "",
    ...Array.from(variables, ([name, value]) => `@${name} = ${value}`),
  ].join("\n");
  return `${[head, ...parts].join("\n\n")}\n`;
}

/** Version 2.1 of the collection format, which Postman, Bruno, Insomnia and Hoppscotch import. */
function postmanCollection(document: Json): Json {
  const { requests, variables } = apiRequests(document);
  const toItem = ({ summary, description, method, path, query, headers, body, responses }: ApiRequest) => {
    const search = query.map(([name, value]) => `${name}=${value}`).join("&");
    const request = {
      method,
      header: headers.map(([key, value]) => ({ key, value })),
      url: {
        raw: `{{baseUrl}}${path}${search === "" ? "" : `?${search}`}`,
        host: ["{{baseUrl}}"],
        path: path.split("/").slice(1),
        ...(search === "" ? {} : { query: query.map(([key, value]) => ({ key, value })) }),
      },
      description,
      ...(body === undefined
        ? {}
        : { body: { mode: "raw", raw: body, options: { raw: { language: "json" } } } }),
    };
    return {
      name: summary,
      request,
      response: responses.map(({ status, summary: name, mediaType, value }) => ({
        name: `${status}: ${name}`,
        originalRequest: request,
        code: status,
        header: [{ key: "Content-Type", value: mediaType }],
        body: JSON.stringify(value, null, 2),
        _postman_previewlanguage: "json",
      })),
    };
  };
  const tags = [...new Set(requests.map(({ tag }) => tag))];
  return {
    info: {
      name: recordIn(document, "info")["title"],
      description:
        "Set the variables of the collection first; cardId is the id in the response of issueCard.",
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    auth: { type: "bearer", bearer: [{ key: "token", value: "{{apiKey}}", type: "string" }] },
    variable: Array.from(variables, ([key, value]) => ({ key, value })),
    item: tags.map((name) => ({
      name,
      item: requests.filter(({ tag }) => tag === name).map(toItem),
    })),
  };
}
