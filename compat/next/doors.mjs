/** Where the shop receives deliveries, and the endpoints that send them there. */

/** The routes that receive, and in what they differ. */
export const doors = {
  app: { path: "/webhooks/loyalty", secretName: "LOYALTY_SIGNING_SECRET" },
  edge: { path: "/webhooks/edge", secretName: "LOYALTY_SIGNING_SECRET_EDGE", waitsForBody: true },
  pages: { path: "/api/webhooks/loyalty", secretName: "LOYALTY_SIGNING_SECRET_PAGES", allow: "POST" },
};

/** Routes with a mistake, and what the log must say about it. */
export const wrongDoors = {
  "/webhooks/read-before": /Nothing may read the Request before nextRoute does/,
  "/api/webhooks/parsed-before": /bodyParser: false/,
};

/** Creates the endpoints, as somebody does in the console; `settings` is what the shop must know of them. */
export function createEndpoints(service, url) {
  const create = (path) =>
    service.webhooks.createEndpoint({ url: `${url}${path}`, events: ["balance.changed"] });
  const settings = {};
  const endpoints = {};
  for (const [door, { path, secretName }] of Object.entries(doors)) {
    endpoints[door] = create(path);
    settings[secretName] = endpoints[door].secret;
  }
  for (const path of Object.keys(wrongDoors)) endpoints[path] = create(path);
  return { endpoints, settings };
}
