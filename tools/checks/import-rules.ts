/** Which file may import what, `import type` included: the rules for dependency-cruiser. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cruise, type ICruiseResult, type IRegularForbiddenRuleType } from "dependency-cruiser";
import { root } from "../run.ts";

/** A source imports from folders of lower layers only, and never from `testing`, the test kit. */
const layers: readonly (readonly string[])[] = [
  ["openapi", "internal"],
  ["packages/issuing-client", "packages/webhook-verify"],
  ["packages/issuing-outbox", "packages/webhook-inbox", "packages/mock-server"],
  ["packages/cli"],
  ["examples"],
  ["testing"],
];

/** The folders, and files without a folder, of the mock server: the same rule. */
const mockServerLayers = [
  ["domain"], // customers, cards, templates, ledger, idempotency
  ["faults"], // rules for injected faults
  ["delivery"], // events, their deliveries, attempts, endpoints
  ["backend"], // options, state, clock: the service behind its HTTP surface
  ["http"], // the API: its middleware and handlers; replies
  ["control", "pages"], // the control API under /_mock; card page, console, API reference
  ["service.ts"], // the public object
  ["index.ts", "adapters", "receiver-check"], // MSW, Node, the command; the check needs nothing of the service
].map((names) => names.map((name) => `packages/mock-server/src/${name}`));

const toFolderPattern = (paths: readonly string[]) => `^(${paths.join("|")})(/|$)`;

const sources = "^(internal/(?!test/)|packages/[^/]+/src/)";

type Rule = IRegularForbiddenRuleType;
const forbid = (name: string, from: Rule["from"], to: Rule["to"]): Rule => ({
  name,
  severity: "error",
  from,
  to,
});

const descend = (table: readonly (readonly string[])[]): Rule[] =>
  table.flatMap((names, layer) =>
    names.map((name) => {
      const notLower = {
        path: toFolderPattern(table.slice(layer).flat()),
        pathNot: toFolderPattern([name]),
      };
      return forbid(
        `${name} imports from lower layers only`,
        { path: toFolderPattern([name]) },
        notLower,
      );
    }),
  );

/** Each of these modules is imported only in certain files. */
const reserved: readonly [module: string, files: string][] = [
  ["openapi-(fetch|typescript-helpers)", "^packages/issuing-client/src/api\\.ts$"],
  ["msw", "^packages/mock-server/src/adapters/msw\\.ts$"],
  ["libsql", "^internal/sqlite/database-node\\.ts$"],
];
const toModule = (name: string) => `(^|node_modules/)${name}(/|$)`;

/**
 * Users pass frameworks and engines as arguments. The packages import only their types, so that
 * they stay optional.
 */
const frameworks =
  "(express|fastify|koa|next|@nestjs/[^/]+|pg|postgres|drizzle-orm|kysely|@prisma/[^/]+|pg-boss|bullmq|ioredis)";

const noCycle = forbid("no cycle", {}, { circular: true });
const noTestOfAnotherPackage = forbid(
  "what the tests of several packages need is in testing/",
  { path: "^(packages/[^/]+|[^/]+)/" },
  { path: "^[a-z].*/test/", pathNot: ["^$1/", "(^|/)node_modules/"] },
);

/** The rules of what is published and of the examples, without their tests. */
const sourceRules: Rule[] = [
  ...descend(layers),
  ...descend(mockServerLayers),
  forbid(
    "every package has a layer",
    { path: "^packages/[^/]+/src/", pathNot: toFolderPattern(layers.flat()) },
    {},
  ),
  forbid(
    "every folder of the mock server has a layer",
    { path: "^packages/mock-server/src/", pathNot: toFolderPattern(mockServerLayers.flat()) },
    {},
  ),
  forbid("nothing imports an example", { pathNot: "^examples/" }, { path: "^examples/" }),
  noCycle,
  noTestOfAnotherPackage,
  { ...forbid("no cycle of folders", {}, { circular: true }), scope: "folder" },
  ...reserved.map(([module, files]) =>
    forbid(
      `only one file imports ${module}`,
      { path: sources, pathNot: files },
      { path: toModule(module) },
    ),
  ),
  forbid(
    "only client.api has the types of a service's own document",
    { path: sources, pathNot: "^packages/issuing-client/src/api\\.ts$" },
    { path: "^openapi/generated/service\\.ts$" },
  ),
  // A module of a newer Node.js than this one, such as node:sqlite, is not known as one.
  ...[{ dependencyTypes: ["core" as const] }, { path: "^node:" }].map((to) =>
    forbid(
      "only files with node in their name import Node.js",
      { path: sources, pathNot: "^packages/cli/|(^|/)(bin|pg-boss|[\\w-]*node[\\w-]*)\\.ts$" },
      to,
    ),
  ),
  forbid(
    "frameworks are imported as types",
    { path: sources },
    { path: toModule(frameworks), dependencyTypesNot: ["type-only"] },
  ),
  forbid("every import is found", { path: sources }, { couldNotResolve: true, pathNot: "^node:" }),
];

/** The rules of tests, tools and measurements, which may import higher layers. */
const testRules: Rule[] = [noCycle, noTestOfAnotherPackage];

const tests = "^(internal|examples)/test/|\\.test\\.";
const installedOrBuilt = "^(packages|examples|compat|benchmarks)/.*(node_modules|dist|\\.next)/";

/**
 * @param baseDir the folder that contains `packages`, `internal` and `examples`
 * @returns one sentence per violation
 */
export async function findViolations(
  baseDir = root,
): Promise<{ files: number; violations: string[] }> {
  const packages = readdirSync(join(baseDir, "packages")).map((name) => `packages/${name}`);
  const ofSources = await applyRules(baseDir, sourceRules, {
    folders: ["internal", "examples", ...packages.map((folder) => `${folder}/src`)],
    exclude: [tests, installedOrBuilt],
    doNotFollow: ["node_modules"],
  });
  const testFolders = ["internal", ...packages].map((folder) => `${folder}/test`);
  const ofTests = await applyRules(baseDir, testRules, {
    folders: ["testing", "tools", "compat", "benchmarks", "examples", ...testFolders],
    exclude: [installedOrBuilt],
    doNotFollow: ["node_modules", sources],
  });
  return {
    files: ofSources.files + ofTests.files,
    violations: [...ofSources.violations, ...ofTests.violations],
  };
}

interface Files {
  folders: string[];
  /** Paths that are not read. */
  exclude: string[];
  /** Paths of which an import is read, but not the file. */
  doNotFollow: string[];
}

async function applyRules(baseDir: string, forbidden: Rule[], files: Files) {
  const { output } = await cruise(
    files.folders.filter((path) => existsSync(join(baseDir, path))),
    {
      baseDir,
      ruleSet: { forbidden },
      validate: true,
      tsPreCompilationDeps: true, // import type
      doNotFollow: { path: files.doNotFollow },
      exclude: { path: files.exclude },
    },
    {
      exportsFields: ["exports"],
      conditionNames: ["@loyalty-cards/source", "import", "node", "default"],
    },
  );
  const { totalCruised, violations } = (output as ICruiseResult).summary;
  return {
    files: totalCruised,
    violations: violations.map(({ rule, from, to }) => `${from} imports ${to}: ${rule.name}`),
  };
}
