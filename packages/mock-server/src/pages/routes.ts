/** Routes of the pages. The pages are loaded on their first request, because most services are only called by programs. */
import type { Backend } from "../backend/backend.ts";
import { emptyResponse, jsonResponse } from "../http/messages.ts";
import { type Route, withGuard } from "../http/router.ts";

export function pageRoutes({ domain, settings }: Backend): Route[] {
  const { baseUrl, allowedHosts, wallets } = settings;
  const guard = (route: Route) => withGuard(route, baseUrl, allowedHosts);
  return [
    guard(
      get("/", async ({ request }) =>
        request.headers.get("accept")?.includes("text/html")
          ? (await pages()).startResponse(domain)
          : jsonResponse(200, {
              console: `${baseUrl}/console`,
              reference: `${baseUrl}/api/docs`,
              document: `${baseUrl}/api/docs/json`,
              health: `${baseUrl}/_mock/health`,
            }),
      ),
    ),
    get("/cards/*", async ({ params: [slug = ""] }) => (await pages()).cardResponse(domain, slug)),
    get("/cards/*/*", async ({ params: [slug = "", leaf = ""] }) =>
      (await pages()).walletResponse(domain, slug, leaf, "show"),
    ),
    // Anyone who has the address of a card may add it; pages of other origins may not.
    withGuard(
      {
        method: "POST",
        path: "/cards/*/*",
        handle: async ({ params: [slug = "", leaf = ""] }) =>
          (await pages()).walletResponse(domain, slug, leaf, "add"),
      },
      baseUrl,
      "any",
    ),
    get("/assets/*", async ({ params: [name = ""] }) => (await pages()).assetResponse(wallets, name)),
    get("/api/docs", async () => (await pages()).referenceResponse()),
    guard(get("/console", async () => (await pages()).findFile("console/index.html"))),
    get("/console/", () => emptyResponse(308, { location: "../console" })),
    guard(get("/console/*", async ({ params: [name = ""] }) => (await pages()).findFile(`console/${name}`))),
  ];
}

const pages = () => import("./pages.ts");

const get = (path: string, handle: Route["handle"]): Route => ({ method: "GET", path, handle });
