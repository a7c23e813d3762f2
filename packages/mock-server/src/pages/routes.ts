/** Where the pages are. They are loaded when somebody looks: most services are only called by programs. */
import { guarded } from "../control/guard.ts";
import { Problem } from "../domain/problem.ts";
import type { Route } from "../http/router.ts";
import type { Settings } from "../options.ts";
import type { Worlds } from "../worlds.ts";

export function pageRoutes(worlds: Worlds, settings: Settings): Route[] {
  const { baseUrl, allowedHosts, wallets } = settings;
  const guard = (route: Route) => guarded(route, baseUrl, allowedHosts);
  return [
    get("/", ({ request }) =>
      request.headers.get("accept")?.includes("text/html")
        ? { status: 303, headers: { location: "console" } }
        : new Problem(
            404,
            "There is nothing at /. The console is at /console, the API reference at /api/docs.",
          ),
    ),
    get("/cards/*", async ({ params: [slug = ""] }) => (await pages()).cardReply(worlds, slug)),
    get("/cards/*/*", async ({ params: [slug = "", leaf = ""] }) =>
      (await pages()).walletReply(worlds, slug, leaf),
    ),
    // Adding a card is for everybody who has its address, but not for other pages on their behalf.
    guarded(
      {
        method: "POST",
        path: "/cards/*/*",
        answer: async ({ params: [slug = "", leaf = ""] }) => (await pages()).addReply(worlds, slug, leaf),
      },
      baseUrl,
      "any",
    ),
    get("/assets/*", async ({ params: [name = ""] }) => (await pages()).assetReply(wallets, name)),
    get("/api/docs", async () => (await pages()).referenceReply()),
    guard(get("/console", async () => (await pages()).fileAt("console/index.html"))),
    guard(get("/console/*", async ({ params: [name = ""] }) => (await pages()).fileAt(`console/${name}`))),
  ];
}

const pages = () => import("./pages.ts");

const get = (path: string, answer: Route["answer"]): Route => ({ method: "GET", path, answer });
