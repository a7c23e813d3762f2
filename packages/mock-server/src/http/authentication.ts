/** Authentication (spec 5.2): a request needs a valid API key. */
import { apiKeyNames } from "../domain/api-keys.ts";
import type { Domain } from "../domain/context.ts";
import { createProblem } from "../domain/problem.ts";
import { type Middleware, respond } from "./app.ts";
import { problemReply } from "./reply.ts";

const unauthorized = createProblem(401, "The API key is missing or unknown.");

export const authenticate =
  (domain: Domain): Middleware =>
  async (c, next) => {
    const key = parseBearer(c.req.header("authorization"));
    const { kind } = domain.state.apiKeys.get(key ?? "") ?? {};
    if (kind === undefined) {
      const reason = key === undefined ? "no API key" : "unknown key";
      return respond(c, problemReply(unauthorized, { reason }));
    }
    c.set("apiKeyKind", kind);
    c.var.entry.apiKey = apiKeyNames[kind];
    return next();
  };

/** Returns the key in an `Authorization` header. */
const parseBearer = (authorization: string | undefined) =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
