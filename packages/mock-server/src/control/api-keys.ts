/** Routes for API keys. */
import { type ApiKeyInput, createApiKey, issuedVia, revokeApiKey } from "../domain/api-keys.ts";
import { object, oneOf, text } from "../domain/shape.ts";
import { type ControlRoute, created, done, ok } from "./route.ts";

export const apiKeyRoutes: ControlRoute[] = [
  {
    method: "GET",
    path: "/_mock/api-keys",
    run: ({ world }) => ok({ items: [...world.domain.state.apiKeys.values()] }),
  },
  {
    method: "POST",
    path: "/_mock/api-keys",
    takes: object({ kind: oneOf(Object.keys(issuedVia)), name: text }, ["kind"]),
    run: ({ world, body }) => created(createApiKey(world.domain, body as ApiKeyInput)),
  },
  {
    method: "DELETE",
    path: "/_mock/api-keys/*",
    run({ world, params: [id = ""] }) {
      revokeApiKey(world.domain, id);
      return done;
    },
  },
];
