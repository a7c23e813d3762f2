/** `npm run test:next`: the packed packages inside a real Next; one line per build. */
import { startMockServer } from "../../packages/mock-server/dist/node.js";
import { openBackOffice } from "./back-office.mjs";
import { createEndpoints } from "./doors.mjs";
import { checksOf } from "./shop-checks.mjs";
import { freePort, openWorkshop } from "./workshop.mjs";

const builds = {
  turbopack: { bundler: "turbopack", withProxy: false, checksTypes: true, lastDoor: "app" },
  "webpack-with-proxy": { bundler: "webpack", withProxy: true, checksTypes: false, lastDoor: "edge" },
};

let [passed, failed] = [0, 0];
const workshop = timed("installed", openWorkshop);
try {
  for (const [name, build] of Object.entries(builds))
    timed(`built ${name}`, () => workshop.build(name, build));
  workshop.removeClient();
  for (const [name, build] of Object.entries(builds)) await tryBuild(name, build);
} finally {
  workshop.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

function timed(what, run) {
  const startedMs = Date.now();
  const result = run();
  console.log(`  ${what}, ${Date.now() - startedMs} ms`);
  return result;
}

async function tryBuild(name, { withProxy, lastDoor }) {
  const startedMs = Date.now();
  const broken = [];
  const backOffice = await openBackOffice();
  const { url, service, close } = await startMockServer();
  const port = await freePort();
  const { endpoints, settings } = createEndpoints(service, `http://127.0.0.1:${port}`);
  const shop = await workshop.start(name, port, {
    ...settings,
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: service.templateId,
    BACK_OFFICE_URL: backOffice.url,
  });
  const checks = checksOf({ service, shop, backOffice, endpoints, withProxy, lastDoor });
  for (const [sentence, run] of checks) {
    await inTime(run).catch((error) => broken.push(`${sentence}: ${error.message}`));
  }
  shop.kill();
  await close();
  backOffice.close();

  passed += checks.length - broken.length;
  failed += broken.length;
  const verdict = broken.length === 0 ? "✓" : "✗";
  console.log(`${verdict} ${name}: ${checks.length} checks, ${Date.now() - startedMs} ms`);
  for (const line of broken) console.log(`    ${line}`);
  if (broken.length > 0) console.log(shop.log());
}

async function inTime(run) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(reject, 30_000, new Error("took more than 30 s"));
  });
  await Promise.race([run(), late]).finally(() => clearTimeout(timer));
}
