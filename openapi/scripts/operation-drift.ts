/** Compares the operations and events of a served document with those of the contract: parameters, bodies, responses, authentication. */
import type { Place, Report } from "./drift-rules.ts";
import { adoptedSchema, requiredRule, type SchemaComparison } from "./schema-drift.ts";
import {
  flattened,
  getProperty,
  isRecord,
  type Json,
  recordIn,
  resolved,
  type Schema,
  UnusableDocumentError,
} from "./served-document.ts";

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** An operation of the served document. */
interface Match {
  /** The parameters of its path and of the operation. */
  parameters: readonly Json[];
  /** The names of the path parameters, in order. */
  pathParameters: readonly string[];
  operation: Json;
}

export class OperationComparison {
  readonly notes: string[] = [];
  readonly #contract: Json;
  readonly #served: Json;
  readonly #schemas: SchemaComparison;
  readonly #report: Report;
  #securitySchemes: Json;

  constructor(contract: Json, served: Json, schemas: SchemaComparison, report: Report) {
    this.#contract = contract;
    this.#served = served;
    this.#schemas = schemas;
    this.#report = report;
    this.#securitySchemes = recordIn(recordIn(contract, "components"), "securitySchemes");
  }

  contract(): Json {
    const matches = this.#matches();
    const describesBodies = [...matches.values()].some(({ operation }) =>
      Object.entries(recordIn(operation, "responses")).some(
        ([status, response]) =>
          isSuccess(status) && jsonSchemaIn(resolved(this.#served, response)) !== undefined,
      ),
    );
    if (!describesBodies) {
      this.notes.push("The served document describes no response bodies; the contract keeps its own.");
    }
    const paths = mapOperations(recordIn(this.#contract, "paths"), (own, path, method) => {
      const operation = String(own["operationId"]);
      const match = matches.get(`${method} ${path}`);
      if (match !== undefined) return this.#operation(own, match, operation, describesBodies);
      this.#report(
        "operation-removed",
        { operation, direction: "request", path: operation },
        "the operation is removed",
      );
      return undefined;
    });
    const components = { ...recordIn(this.#contract, "components"), securitySchemes: this.#securitySchemes };
    return { ...this.#contract, paths, webhooks: this.#webhooks(), components };
  }

  /** The operations of the contract in the served document, by method and path of the contract. */
  #matches(): Map<string, Match> {
    const ownPaths = recordIn(this.#contract, "paths");
    const servedPaths = recordIn(this.#served, "paths");
    const own = Object.entries(ownPaths).flatMap(([path, item]) =>
      getMethods(item).map((method) => ({ path, method })),
    );
    const candidates = Object.keys(servedPaths).flatMap((servedPath) => {
      const item = resolved(this.#served, servedPaths[servedPath]);
      return own
        .filter(
          ({ path, method }) =>
            toPathPattern(servedPath).endsWith(toPathPattern(path)) && isRecord(item[method]),
        )
        .map(({ path, method }) => {
          const prefix = toPathPattern(servedPath).slice(0, -toPathPattern(path).length);
          return { path, method, servedPath, item, prefix };
        });
    });
    // One prefix for all operations: /customers/{id}/passes/{id} is not /passes/{id}.
    const count = (prefix: string) => candidates.filter((candidate) => candidate.prefix === prefix).length;
    const [prefix] = [...new Set(candidates.map((candidate) => candidate.prefix))].sort(
      (first, second) => count(second) - count(first) || first.length - second.length,
    );
    if (prefix === undefined) {
      const names = own.map(({ path, method }) => `${method.toUpperCase()} ${path}`).join(", ");
      throw new UnusableDocumentError(
        `The service's document has none of the operations ${names}. Is this the base URL of a Loyalty Card Issuing Service?`,
      );
    }
    const chosen = candidates.filter((candidate) => candidate.prefix === prefix);
    this.#notePrefix(prefix);
    this.#noteOthers(
      "operation",
      Object.entries(servedPaths).flatMap(([path, item]) =>
        getMethods(resolved(this.#served, item))
          .filter((method) => !chosen.some((one) => one.servedPath === path && one.method === method))
          .map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    return new Map(
      chosen.map(({ path, method, servedPath, item }) => {
        const operation = recordIn(item, method);
        const parameters = [item, operation]
          .flatMap((node) => getProperty(node, "parameters") ?? [])
          .map((parameter) => resolved(this.#served, parameter));
        return [`${method} ${path}`, { parameters, pathParameters: namesIn(servedPath), operation }];
      }),
    );
  }

  #notePrefix(prefix: string): void {
    const [server] = [this.#served["servers"] ?? []].flat();
    const variables = recordIn(server, "variables");
    const address = String(getProperty(server, "url") ?? "").replace(/\{([^}]*)\}/g, (_, name: string) =>
      String(getProperty(variables[name], "default") ?? ""),
    );
    const full = address.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "").replace(/\/+$/, "") + prefix;
    if (full !== "" && !full.endsWith("/api/v1")) {
      this.notes.push(
        `The served document has the operations below ${full}; the client calls them below /api/v1 of its baseUrl.`,
      );
    }
  }

  #noteOthers(kind: string, others: readonly string[]): void {
    if (others.length === 0) return;
    const names = others.slice(0, 10).join(", ") + (others.length > 10 ? ", …" : "");
    const isOne = others.length === 1;
    this.notes.push(
      `${others.length} ${kind}${isOne ? " is" : "s are"} not part of the contract, and omitted: ${names}.`,
    );
  }

  #operation(own: Json, match: Match, operation: string, describesBodies: boolean): Json {
    const next: Record<string, unknown> = { ...own };
    this.#security(own, match.operation, operation, next);
    const parameters = this.#parameters(own, match, operation);
    if (parameters.length > 0 || own["parameters"] !== undefined) next["parameters"] = parameters;
    this.#requestBody(own, match.operation, operation, next);
    next["responses"] = this.#responses(own, match.operation, operation, describesBodies);
    return next;
  }

  #security(own: Json, served: Json, operation: string, next: Record<string, unknown>): void {
    const before = getAuthentications(this.#contract, own);
    const after = getAuthentications(this.#served, served);
    // "" is a requirement without a scheme: the operation needs no authentication.
    if (after.size === 0 || after.has("") || [...after].some((name) => before.has(name))) return;
    this.#report(
      "authentication-changed",
      { operation, direction: "request", path: operation },
      `authentication changes from ${[...before].join(" or ")} to ${[...after].join(" or ")}`,
    );
    next["security"] = served["security"] ?? this.#served["security"];
    const schemes = recordIn(recordIn(this.#served, "components"), "securitySchemes");
    const names = [next["security"] ?? []].flat().flatMap((requirement) => Object.keys(requirement as Json));
    const used = Object.entries(schemes).filter(([name]) => names.includes(name));
    this.#securitySchemes = { ...this.#securitySchemes, ...Object.fromEntries(used) };
  }

  #parameters(own: Json, match: Match, operation: string): Json[] {
    const ownParameters = [own["parameters"] ?? []].flat() as Json[];
    const at = (name: string): Place => ({ operation, direction: "request", path: `${operation} › ${name}` });
    const rest = new Set(match.parameters.filter((parameter) => !isIgnored(parameter)));
    let pathIndex =
      match.pathParameters.length -
      ownParameters.filter((node) => resolved(this.#contract, node)["in"] === "path").length;

    const kept = ownParameters.flatMap((node) => {
      const parameter = resolved(this.#contract, node);
      const name = String(parameter["name"]);
      const isInPath = parameter["in"] === "path";
      const servedName = isInPath ? match.pathParameters[pathIndex++] : name;
      // The last one, because an operation's parameter replaces the parameter of its path.
      const served = [...rest].filter((one) => isSameParameter(one, parameter["in"], servedName)).at(-1);
      for (const one of rest) if (isSameParameter(one, parameter["in"], servedName)) rest.delete(one);
      if (served === undefined) {
        if (isInPath) return [node];
        this.#report("parameter-removed", at(name), "the parameter is removed");
        return [];
      }
      const compared = this.#schemas.component("parameters", node, at(name), (component) => {
        const next: Record<string, unknown> = { ...component };
        const schema = recordIn(component, "schema");
        next["schema"] = this.#schemas.schema(schema, served["schema"] ?? jsonSchemaIn(served), at(name));
        const [wasRequired, isRequired] = [component["required"] === true, served["required"] === true];
        if (isInPath || wasRequired === isRequired) return next;
        if (isRequired)
          this.#report(requiredRule(name, "parameter-required"), at(name), "the parameter is now required");
        else this.#report("parameter-optional", at(name), "the parameter is now optional");
        return { ...next, required: isRequired };
      });
      return [compared];
    });
    // Path parameters of the prefix belong to the base URL of the service.
    const added = [...rest]
      .filter((parameter) => parameter["in"] !== "path")
      .map((parameter) => {
        const [name, isRequired] = [String(parameter["name"]), parameter["required"] === true];
        this.#report(
          isRequired ? "parameter-required" : "parameter-added",
          at(name),
          `a${isRequired ? " required" : "n optional"} ${parameter["in"]} parameter is added`,
        );
        const { description } = parameter;
        return {
          name,
          in: parameter["in"],
          required: isRequired,
          ...(description === undefined ? {} : { description }),
          schema: adoptedSchema(parameter["schema"] ?? jsonSchemaIn(parameter)),
        };
      });
    return [...kept, ...added];
  }

  #requestBody(own: Json, served: Json, operation: string, next: Record<string, unknown>): void {
    const place: Place = { operation, direction: "request", path: `${operation} › request body` };
    const body = resolved(this.#served, served["requestBody"]);
    const hasBody = Object.keys(body).length > 0;
    const ownBody = recordIn(own, "requestBody");
    if (own["requestBody"] === undefined) {
      if (!hasBody || body["required"] !== true) return;
      this.#report("request-body-added", place, "a required request body is added");
      const schema = adoptedSchema(jsonSchemaIn(body));
      next["requestBody"] = { required: true, content: { "application/json": { schema } } };
    } else if (!hasBody) {
      this.#report("request-body-removed", place, "the request body is removed");
      delete next["requestBody"];
    } else {
      next["requestBody"] = { ...ownBody, content: this.#content(ownBody, body, place) };
    }
  }

  /** The content of the contract, with the schema of the service. */
  #content(own: Json, served: Json, place: Place): Json {
    const content = recordIn(own, "content");
    const servedContent = recordIn(served, "content");
    const ownSchema = jsonSchemaIn(own);
    if (Object.keys(servedContent).length === 0 || ownSchema === undefined) return content;
    const schema = jsonSchemaIn(served);
    if (schema === undefined && !Object.keys(servedContent).some(isJson)) {
      const before = Object.keys(content).join(", ");
      const after = Object.keys(servedContent).join(", ");
      if (before === after) return content;
      this.#report("media-type-changed", place, `the media type changes from ${before} to ${after}`);
      return Object.fromEntries(
        Object.entries(servedContent).map(([type, media]) => [
          type,
          { schema: adoptedSchema(getProperty(media, "schema")) },
        ]),
      );
    }
    const next = this.#schemas.schema(ownSchema as Schema, schema ?? {}, place);
    return Object.fromEntries(
      Object.entries(content).map(([type, media]) => [
        type,
        isJson(type) ? { ...(media as Json), schema: next } : media,
      ]),
    );
  }

  #responses(own: Json, served: Json, operation: string, describesBodies: boolean): Json {
    const servedResponses = recordIn(served, "responses");
    const at = (status: string): Place => ({
      operation,
      direction: "response",
      path: `${operation} › ${status}`,
    });
    const taken = new Set<string>(["default"]);
    const next: [string, unknown][] = [];
    for (const [status, node] of Object.entries(recordIn(own, "responses"))) {
      const isOk = isSuccess(status);
      const servedStatuses = Object.keys(servedResponses).filter((one) => isSameStatus(status, one));
      for (const one of servedStatuses) taken.add(one);
      const others = isOk ? Object.keys(servedResponses).filter(isSuccess) : ["default"];
      const servedStatus = [...servedStatuses, ...others].find((one) => servedResponses[one] !== undefined);
      if (servedStatus === undefined) {
        next.push([status, node]);
        continue;
      }
      const response = resolved(this.#served, servedResponses[servedStatus]);
      const hasBody = Object.keys(recordIn(response, "content")).length > 0;
      const isSame = isSameStatus(status, servedStatus) || servedStatus === "default";
      if (isOk && !isSame) {
        taken.add(servedStatus);
        this.#report(
          "success-status-changed",
          at(status),
          `the status changes from ${status} to ${servedStatus}`,
        );
      }
      const compared = this.#schemas.component("responses", node as Json, at(status), (component) => {
        if (component["content"] === undefined) return component;
        if (isOk && !hasBody && describesBodies) {
          // The specification leaves the response of setConsent open; the client accepts 204 without a body (spec 4.5).
          if (operation !== "setConsent")
            this.#report("response-body-removed", at(status), "the response has no body");
          else if (isSame) this.#report("success-status-changed", at(status), "the response has no body");
          const { content: _, links: __, ...rest } = component;
          return rest;
        }
        return { ...component, content: this.#content(component, response, at(status)) };
      });
      next.push([isOk && !isSame ? servedStatus : status, compared]);
    }
    for (const [status, node] of Object.entries(servedResponses)) {
      if (taken.has(status)) continue;
      this.#report("status-added", at(status), `the status ${status} is added`);
      const response = resolved(this.#served, node);
      const type = isSuccess(status) ? "application/json" : "application/problem+json";
      const schema = jsonSchemaIn(response);
      const description = String(response["description"] ?? "");
      next.push([
        status,
        {
          description,
          ...(schema === undefined ? {} : { content: { [type]: { schema: adoptedSchema(schema) } } }),
        },
      ]);
    }
    return Object.fromEntries(next);
  }

  #webhooks(): Json {
    const own = recordIn(this.#contract, "webhooks");
    const served = { ...recordIn(this.#served, "x-webhooks"), ...recordIn(this.#served, "webhooks") };
    if (Object.keys(served).length === 0) {
      this.notes.push("The served document describes no webhooks; the contract keeps its own.");
      return own;
    }
    const bodies = Object.entries(served).flatMap(([key, item]) => {
      const body = resolved(this.#served, recordIn(resolved(this.#served, item), "post")["requestBody"]);
      const schema = flattened(this.#served, jsonSchemaIn(body));
      const type = flattened(this.#served, recordIn(schema, "properties")["type"]);
      const [name = key] = Object.hasOwn(own, key)
        ? [key]
        : ([type["const"] ?? type["enum"] ?? []].flat() as string[]);
      return Object.keys(body).length === 0 ? [] : [{ type: name, body }];
    });
    this.#noteOthers(
      "event",
      bodies.map(({ type }) => type).filter((type) => !Object.hasOwn(own, type)),
    );
    return mapOperations(own, (operation, type) => {
      const place: Place = { operation: type, direction: "response", path: type };
      const match = bodies.find((body) => body.type === type);
      if (match === undefined) {
        this.#report("event-removed", place, "the event is removed");
        return undefined;
      }
      const body = recordIn(operation, "requestBody");
      return { ...operation, requestBody: { ...body, content: this.#content(body, match.body, place) } };
    });
  }
}

/** Changes the operations of path items; omits an item without operations. */
function mapOperations(
  items: Json,
  change: (operation: Json, path: string, method: string) => Json | undefined,
): Json {
  const changed = Object.entries(items).flatMap(([path, item]): [string, Json][] => {
    const entries = Object.entries(item as Json).flatMap(([name, value]): [string, unknown][] => {
      if (!methods.includes(name)) return [[name, value]];
      const operation = change(value as Json, path, name);
      return operation === undefined ? [] : [[name, operation]];
    });
    return entries.some(([name]) => methods.includes(name)) ? [[path, Object.fromEntries(entries)]] : [];
  });
  return Object.fromEntries(changed);
}

const getMethods = (item: unknown): string[] =>
  methods.filter((method) => isRecord(getProperty(item, method)));

/** Removes the names of the parameters from a path: `/passes/{}`. */
const toPathPattern = (path: string) => path.replace(/\/+$/, "").replace(/\{[^}]*\}/g, "{}");

const namesIn = (path: string) => [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = ""]) => name);

const isSuccess = (status: string) => /^2(\d\d|XX)$/i.test(status);

/** 5XX matches every status from 500 to 599. */
const isSameStatus = (own: string, served: string) =>
  own.toUpperCase() === served.toUpperCase() || (/^\dXX$/i.test(own) && own[0] === served[0]);

const isJson = (mediaType: string) =>
  /^(application\/(.+\+)?json|\*\/\*|application\/\*)\s*(;|$)/i.test(mediaType);

/** The schema of the JSON content of a request body, response or parameter. */
function jsonSchemaIn(node: Json): unknown {
  const content = Object.entries(recordIn(node, "content"));
  return getProperty(content.find(([type]) => isJson(type))?.[1], "schema");
}

/** OpenAPI ignores header parameters with these names, because other keywords describe them. */
const isIgnored = (parameter: Json) =>
  parameter["in"] === "header" && /^(accept|content-type|authorization)$/i.test(String(parameter["name"]));

const isSameParameter = (parameter: Json, place: unknown, name: unknown) =>
  parameter["in"] === place &&
  (place === "header"
    ? String(parameter["name"]).toLowerCase() === String(name).toLowerCase()
    : parameter["name"] === name);

/** The alternative ways to authenticate an operation; empty when the document does not describe any. */
function getAuthentications(document: Json, operation: Json): Set<string> {
  const requirements = [operation["security"] ?? document["security"] ?? []].flat();
  const schemes = recordIn(recordIn(document, "components"), "securitySchemes");
  return new Set(
    requirements.map((requirement) =>
      Object.keys(isRecord(requirement) ? requirement : {})
        .map((name) => formatAuthentication(resolved(document, schemes[name])))
        .join(" with "),
    ),
  );
}

function formatAuthentication({ type, scheme, in: place, name }: Json): string {
  const isBearer =
    (type === "http" && String(scheme).toLowerCase() === "bearer") ||
    ["oauth2", "openIdConnect"].includes(String(type)) ||
    (type === "apiKey" && place === "header" && String(name).toLowerCase() === "authorization");
  if (isBearer) return "Authorization: Bearer";
  return type === "apiKey" ? `an API key in the ${place} ${name}` : `${type} ${scheme ?? ""}`.trim();
}
