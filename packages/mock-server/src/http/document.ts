/** Serves the OpenAPI document of the service, with this service's own address in it (spec 4.6). */
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };

export function documentOf(baseUrl: string): unknown {
  const [server] = openapi.servers;
  const variables = { base_url: { ...server?.variables.base_url, default: baseUrl } };
  return { ...openapi, servers: [{ ...server, variables }] };
}
