/** Compares the operations of a served document with those of the contract: address, authentication, parameters, bodies, statuses. */
import { adoptedSchema } from "./adoption.ts";
import { compareAuthentication } from "./authentication-drift.ts";
import { type Json, listIn, recordIn } from "./document.ts";
import type { Place } from "./drift-rules.ts";
import { compareContent, jsonSchemaIn } from "./media-drift.ts";
import { type Match, mapOperations, matchOperations, noteOthers } from "./operation-matches.ts";
import { compareParameters } from "./parameter-drift.ts";
import type { Comparison, SchemaComparison } from "./schema-drift.ts";
import { compareWebhooks } from "./webhook-drift.ts";

/**
 * The error statuses that the specification names ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). A missing
 * one is a difference; other error statuses stay in the contract when a document omits them.
 */
const specifiedErrors: Readonly<Record<string, readonly string[]>> = { issueCard: ["404", "422"] };

export class OperationComparison {
  readonly notes: string[] = [];
  readonly #comparison: Comparison;
  readonly #schemas: SchemaComparison;
  /** False when the document describes no body of a response at all. */
  #describesBodies = false;
  #securitySchemes: Json;

  constructor(comparison: Comparison, schemas: SchemaComparison) {
    this.#comparison = comparison;
    this.#schemas = schemas;
    const components = recordIn(comparison.contract.root, "components");
    this.#securitySchemes = recordIn(components, "securitySchemes");
  }

  /** The contract, changed only where the service differs. */
  contract(): Json {
    const { contract, served, report } = this.#comparison;
    const { matches, others } = matchOperations(this.#comparison);
    this.notes.push(...noteOthers("operation", others));
    this.#describesBodies = [...matches.values()].some(({ operation }) =>
      Object.entries(recordIn(operation, "responses")).some(
        ([status, response]) => isSuccess(status) && jsonSchemaIn(served.resolved(response)) !== undefined,
      ),
    );
    if (!this.#describesBodies) {
      this.notes.push("The served document describes no response bodies; the contract keeps its own.");
    }
    const basePaths = new Set([...matches.values()].map(({ otherBasePath }) => otherBasePath));
    const paths = mapOperations(recordIn(contract.root, "paths"), (own, path, method) => {
      const operation = String(own["operationId"]);
      const match = matches.get(`${method} ${path}`);
      if (match !== undefined) return this.#operation(own, match, operation, basePaths.size > 1);
      report(
        "operation-removed",
        { operation, direction: "request", path: operation },
        "the operation is removed",
      );
      return undefined;
    });
    const [basePath] = basePaths;
    const servers =
      basePaths.size > 1 || basePath === undefined
        ? contract.root["servers"]
        : moveServers(contract.root["servers"], basePath);
    const webhooks = compareWebhooks(this.#comparison, this.#schemas, this.notes);
    const components = { ...recordIn(contract.root, "components"), securitySchemes: this.#securitySchemes };
    return { ...contract.root, servers, paths, webhooks, components };
  }

  /** @param hasOwnServers the operations have different base paths */
  #operation(own: Json, match: Match, operation: string, hasOwnServers: boolean): Json {
    const { contract, report } = this.#comparison;
    const next: Record<string, unknown> = { ...own };
    if (match.otherBasePath !== undefined) {
      report(
        "base-path-changed",
        { operation, direction: "request", path: "servers" },
        `the operation is below ${match.otherBasePath}`,
      );
      if (hasOwnServers) next["servers"] = moveServers(contract.root["servers"], match.otherBasePath);
    }
    const authentication = compareAuthentication(own, match.operation, operation, this.#comparison);
    if (authentication !== undefined) {
      next["security"] = authentication.security;
      this.#securitySchemes = { ...this.#securitySchemes, ...authentication.schemes };
    }
    const place = { operation, direction: "request" } as const;
    const parameters = compareParameters(own, match, place, this.#comparison, this.#schemas);
    if (parameters.length > 0 || own["parameters"] !== undefined) next["parameters"] = parameters;
    this.#requestBody(own, match.operation, operation, next);
    next["responses"] = this.#responses(own, match.operation, operation);
    return next;
  }

  #requestBody(own: Json, served: Json, operation: string, next: Record<string, unknown>): void {
    const { report } = this.#comparison;
    const place: Place = { operation, direction: "request", path: `${operation} › request body` };
    const body = this.#comparison.served.resolved(served["requestBody"]);
    const hasBody = Object.keys(body).length > 0;
    const ownBody = recordIn(own, "requestBody");
    if (own["requestBody"] === undefined) {
      if (!hasBody || body["required"] !== true) return;
      report("request-body-added", place, "a required request body is added");
      const schema = adoptedSchema(jsonSchemaIn(body));
      next["requestBody"] = { required: true, content: { "application/json": { schema } } };
    } else if (!hasBody) {
      report("request-body-removed", place, "the request body is removed");
      delete next["requestBody"];
    } else {
      const content = compareContent(ownBody, body, place, this.#comparison, this.#schemas);
      next["requestBody"] = { ...ownBody, content };
    }
  }

  #responses(own: Json, served: Json, operation: string): Json {
    const { report } = this.#comparison;
    const servedResponses = recordIn(served, "responses");
    const at = (status: string): Place => ({
      operation,
      direction: "response",
      path: `${operation} › ${status}`,
    });
    const taken = new Set<string>(["default"]);
    const next: [string, unknown][] = [];
    for (const [status, node] of Object.entries(recordIn(own, "responses"))) {
      const servedStatuses = Object.keys(servedResponses).filter((one) => isSameStatus(status, one));
      for (const one of servedStatuses) taken.add(one);
      const others = isSuccess(status) ? Object.keys(servedResponses).filter(isSuccess) : ["default"];
      const servedStatus = [...servedStatuses, ...others].find((one) => Object.hasOwn(servedResponses, one));
      if (servedStatus !== undefined) {
        taken.add(servedStatus);
        const response = this.#comparison.served.resolved(servedResponses[servedStatus]);
        next.push(this.#response(status, node as Json, servedStatus, response, at(status)));
      } else if (isExpected(operation, status, Object.keys(servedResponses))) {
        report("status-removed", at(status), `the status ${status} is removed`);
      } else next.push([status, node]);
    }
    for (const [status, node] of Object.entries(servedResponses)) {
      if (taken.has(status)) continue;
      report("status-added", at(status), `the status ${status} is added`);
      const response = this.#comparison.served.resolved(node);
      const type = isSuccess(status) ? "application/json" : "application/problem+json";
      const schema = jsonSchemaIn(response);
      const description = String(response["description"] ?? "");
      const content = schema === undefined ? {} : { content: { [type]: { schema: adoptedSchema(schema) } } };
      next.push([status, { description, ...content }]);
    }
    return Object.fromEntries(next);
  }

  /** @returns the status and the response for the contract. */
  #response(
    status: string,
    own: Json,
    servedStatus: string,
    response: Json,
    place: Place,
  ): [status: string, response: Json] {
    const { report } = this.#comparison;
    const isSame = isSameStatus(status, servedStatus) || servedStatus === "default";
    const hasBody = Object.keys(recordIn(response, "content")).length > 0;
    if (!isSame) {
      report("success-status-changed", place, `the status changes from ${status} to ${servedStatus}`);
    }
    const compared = this.#schemas.component("responses", own, place, (component) => {
      if (component["content"] === undefined) return component;
      if (isSuccess(status) && !hasBody && this.#describesBodies) {
        // The specification leaves the response of setConsent open; the client accepts 204 without a body (spec 4.5).
        if (place.operation !== "setConsent")
          report("response-body-removed", place, "the response has no body");
        else if (isSame) report("success-status-changed", place, "the response has no body");
        const { content: _, links: __, ...rest } = component;
        return rest;
      }
      const content = compareContent(component, response, place, this.#comparison, this.#schemas);
      return { ...component, content };
    });
    return [isSame ? status : servedStatus, compared];
  }
}

/** Whether the omission of a status is a difference: the service describes other responses of this kind. */
function isExpected(operation: string, status: string, served: readonly string[]): boolean {
  if (isSuccess(status)) return served.length > 0 && !served.includes("default");
  const isSpecified =
    Object.hasOwn(specifiedErrors, operation) && specifiedErrors[operation]?.includes(status);
  return isSpecified === true && served.some((one) => one.startsWith("4"));
}

/** The servers of the contract at another base path. */
const moveServers = (servers: unknown, basePath: string) =>
  listIn({ servers }, "servers").map((server) => {
    const { origin } = new URL(String((server as Json)["url"]));
    return { ...(server as Json), url: `${origin}${basePath === "/" ? "" : basePath}` };
  });

const isSuccess = (status: string) => /^2(\d\d|XX)$/i.test(status);

/** 5XX matches every status from 500 to 599. */
const isSameStatus = (own: string, served: string) =>
  own.toUpperCase() === served.toUpperCase() ||
  (isRange(own) && own[0] === served[0]) ||
  (isRange(served) && own[0] === served[0]);

const isRange = (status: string) => /^\dXX$/i.test(status);
