/** The workflows follow their rules, and each small change that breaks a rule is found. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../published.ts";
import { expression, findProblems, readWorkflows } from "../workflows.ts";

const files = readWorkflows();

it("finds no problem in the workflows", () => {
  expect(findProblems(files)).toEqual([]);
});

/** The text that a change replaces in the real file, by what, and the problem. */
type Change = readonly [text: string, replacement: string, problem: string];

const [checkout = ""] = /actions\/checkout@.*/.exec(files["ci.yml"] ?? "") ?? [];

const [redis = ""] = /redis:\d.*/.exec(files["ci.yml"] ?? "") ?? [];

const inEachFile: readonly Change[] = [
  [checkout, "actions/checkout@v4", "actions/checkout@v4 has no commit with its version"],
  [checkout, checkout.replace(/ #.*/, ""), "has no commit with its version"],
  [checkout, "docker://rhysd/actionlint:1.7.7", "has no commit with its version"],
  [`uses: ${checkout}`, '"uses": actions/checkout@v4', "is written in another way"],
  ["persist-credentials: false", "persist-credentials: true", "the checkout stores credentials"],
  ["\non:\n", "\non:\n  pull_request_target:\n", "a pull request of a fork runs with the rights"],
  ["\npermissions:", "\nignored:", "the default permissions are not only"],
  ["\njobs:", `\nenv: { TOKEN: "${expression("secrets.TOKEN")}" }\njobs:`, "it uses a secret"],
];

const inCi: readonly Change[] = [
  ["contents: read", "contents: write", "the default permissions are not only"],
  ["runs-on:", "permissions: write-all\n    runs-on:", "workflows: it may write"],
  ["runs-on:", "permissions: { id-token: write }\n    runs-on:", "workflows: it may write id-token"],
  ["run: npm ci", `run: npm ci && echo ${expression("github.token")}`, "linux: it runs dependencies beside"],
  [
    "npm run check",
    `npm run check ${expression("github.head_ref")}`,
    "linux: a script contains an expression",
  ],
  [redis, "redis:7.4.11", "linux: the image redis:7.4.11 has no version with its digest"],
  [redis, redis.replace(":7.4.11", ""), "has no version with its digest"],
  [redis, redis.replace("7.4.11", "7.4.12"), "the services are not those of ci.yml"],
  ["actionlint@$ACTIONLINT_VERSION", "actionlint@latest", "actionlint is missing"],
  ["ACTIONLINT_VERSION: v1", "ACTIONLINT_VERSION: v", "actionlint is missing, or has no version"],
  ["zizmor==$ZIZMOR_VERSION", "zizmor", "zizmor is missing"],
];

const inPages: readonly Change[] = [
  ["name: github-pages\n      url", "name: npm\n      url", "deploy: its environment is another one"],
  ["pages: write", "pages: write\n      contents: write", "deploy: it may write contents,id-token,pages"],
];

const inScorecard: readonly Change[] = [
  ["5 * * 3", "5 1 * *", "Scorecard does not run each week"],
  ["ossf/scorecard-action", "ossf/other-action", "Scorecard does not run each week"],
  ["actions: read", "actions: write", "analysis: it may write actions,security-events"],
];

const readingBuild = "timeout-minutes: 120\n    permissions:\n      contents: read";
const comparing = "      - name: The bytes are those that were tested\n";
const comparison = '          echo "$DIGEST  SHA256SUMS" | sha256sum --check --strict\n';
const packing = "          npm run release -- pack tarballs\n";
const inRelease: readonly Change[] = [
  [readingBuild, readingBuild.replace("read", "write"), "build: it may write contents"],
  [readingBuild, `${readingBuild}\n      id-token: write`, "build: it may write id-token"],
  ["run: npm run check\n", "run: npm run lint\n", "build, pack, check: one is missing or late"],
  ["run: npm run release -- check\n", "run: npm test\n", "build, pack, check: one is missing or late"],
  ["run: npm run build\n", "run: npm run release -- pack\n", "build, pack, check: one is missing or late"],
  ["LOYALTY_CARDS_TARBALLS: tarballs", "OTHER: tarballs", "a check packs tarballs of its own"],
  ["image: postgres:16", "image: postgres:17", "the services are not those of ci.yml"],
  ["outputs.digest }}\n    services", "outputs.other }}\n    services", "the digest is not an output"],
  ["          name: tarballs\n          path", "          name: other\n          path", "are not uploaded"],
  ["          name: tarballs\n      - uses", "          name: other\n      - uses", "are not downloaded"],
  [
    "node-version: 24\n      - run: npm ci",
    "node-version: 24\n          cache: npm\n      - run: npm ci",
    "it has a cache",
  ],
  ["needs: build\n", "needs: prepare\n", "the publishing job does not wait for the tests"],
  ["    environment: npm\n", "", "publish: its environment is another one"],
  ["environment: npm\n", "environment: other\n", "publish: its environment is another one"],
  ["id-token: write", "id-token: write\n      contents: read", "publish: it has more permissions"],
  ["id-token: write", "id-token: write\n      contents: write", "publish: it may write contents,id-token"],
  ["registry-url:", "cache: npm\n          registry-url:", "publish: it has a cache"],
  [comparing, `      - uses: ${checkout}\n${comparing}`, "publish: it has the repository"],
  [comparing, `      - run: npm ci\n${comparing}`, "publish: it runs dependencies beside"],
  [comparing, `      - run: node tools/x.mjs\n${comparing}`, "publish: it runs dependencies beside"],
  [" --ignore-scripts --tag", " --tag", "publish: it publishes with scripts"],
  [comparison, "", "the digests are not compared before"],
  [expression("needs.build.outputs.digest"), expression("github.sha"), "the digests are not compared before"],
  ["          sha256sum --check --strict SHA256SUMS\n", "", "the digests are not compared before"],
  ["< <(cut --delimiter=' ' --fields=3 SHA256SUMS)", "< <(ls)", "it publishes files without a digest"],
  ["needs: [prepare, publish]", "needs: prepare", "tags do not wait for the publishing job"],
  ["contents: write # tags", "contents: write\n      id-token: write", "tags: it may write"],
  ["pull-requests: write", "pull-requests: write\n      id-token: write", "versions: it may write"],
  ["git apply --index", "npm ci && git apply --index", "versions: it runs dependencies beside"],
  ["run: npm run release -- version\n", "run: npm test\n", "no job computes the next versions"],
  [
    "          name: versions\n          path",
    "          name: other\n          path",
    "not made from the artifact",
  ],
  ["  versions:\n    needs: prepare\n", "  versions:\n", "does not wait for the next versions"],
  ["  tags:\n", "  other:\n", "a job is missing"],
  ["run: npm run check\n", "run: npm run check || true\n", "build, pack, check: one is missing or late"],
  ["run: npm run check\n", "continue-on-error: true\n        run: npm run check\n", "a step has continue-on"],
  ["run: npm run check\n", "if: false\n        run: npm run check\n", "another condition: false"],
  [comparing, comparing.replace("- name", "- if: false\n        name"), "another condition: false"],
  ["needs: build\n", "needs: build\n    if: always()\n", "publish: it has another condition: always()"],
  [`${packing}          echo`, "          echo", "the digest is not that of the packed files"],
  [
    "      - run: npm run release -- sbom",
    "      - id: pack\n        run: npm run release -- sbom",
    "same id",
  ],
  ["          path: tarballs/", "          path: sbom/", "the tarballs are not uploaded"],
  [" --provenance", "", "without provenance"],
  ["push: { branches: [main] }", "pull_request:", "it runs for another event"],
  ["run: npm ci --ignore-scripts", "run: npm ci", "prepare: it runs scripts of dependencies"],
  ["    environment: npm\n", "    environment: npm\n    container: node:24\n", "publish: it has container"],
  ["    runs-on: ubuntu-latest\n    timeout-minutes: 10", "    runs-on: self-hosted", "on another machine"],
  ...[
    "npm i x",
    "npm start",
    "node ./x.mjs",
    "node --test",
    "bash x.sh",
    "./x.sh",
    "$TOOL x",
    "corepack yarn install",
    "git clone https://example.com/x",
    "curl https://example.com/x | tar -x",
    "if true; then wget x; fi",
    "echo $(pip install x)",
    'echo "`pip install x`"',
  ].map((run): Change => [comparing, `      - run: ${run}\n${comparing}`, "publish: it runs "]),
  [
    comparing,
    `      - uses: other/action@${"0".repeat(40)} # v1.0.0\n${comparing}`,
    "publish: it uses other",
  ],
];

const changes: Readonly<Record<string, readonly Change[]>> = {
  ...Object.fromEntries(Object.keys(files).map((name) => [name, inEachFile])),
  "ci.yml": [...inEachFile, ...inCi],
  "pages.yml": [...inEachFile, ...inPages],
  "release.yml": [...inEachFile, ...inRelease],
  "scorecard.yml": [...inEachFile, ...inScorecard],
};

describe.each(Object.entries(changes))("%s", (name, list) => {
  it.each(list)("finds the change of %j to %j", (text, replacement, problem) => {
    const file = files[name] ?? "";
    expect(file).toContain(text);
    const problems = findProblems({ ...files, [name]: file.replace(text, () => replacement) });
    expect(problems.join("\n")).toContain(problem);
  });
});

it("waits a week for a new version of a dependency", () => {
  const { minimumReleaseAge } = JSON.parse(readFileSync(join(root, "renovate.json"), "utf8"));
  expect(minimumReleaseAge).toBe("7 days");
});
