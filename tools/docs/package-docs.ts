/**
 * Writes into a package what only its tarball has: the licences, ours and those of the software in
 * its built files, and guides, in `docs/`, whose links lead to the site. The build of each package
 * runs it in the package's folder.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { resolveFile, site } from "../../docs/.vitepress/pages.ts";
import { published } from "../packages.ts";
import { renderThirdParty } from "../release/third-party.ts";
import { readFromRoot } from "./snippets.ts";

const images = "https://raw.githubusercontent.com/loyalty-cards/loyalty-cards/main";

/** Pages of `docs/guides`, by the folder of the package. */
const guides: Readonly<Record<string, readonly string[]>> = {
  cli: ["command-line"],
  contract: ["other-languages"],
  "issuing-client": ["sign-up"],
  "issuing-outbox": ["sign-up", "outbox"],
  "mock-server": ["testing"],
  "webhook-inbox": ["receiving-webhooks", "production"],
  "webhook-verify": ["receiving-webhooks", "migration"],
};

/** @throws when the repository has no such file. */
function toAddress(file: string): string {
  const found = resolveFile(file);
  if (found === undefined) throw new Error(`A guide links to ${file}, which does not exist.`);
  return found.startsWith("/") ? site + found.replace(/(\/index)?\.md$/, "") : found;
}

/**
 * The guide without the marks of our own tools, and with absolute links. Code blocks, at odd
 * indices, stay as they are.
 */
function createCopy(file: string): string {
  const parts = readFromRoot(file).split(/^(```[\s\S]*?^```$)/m);
  const linked = parts.map((part, index) =>
    index % 2 === 1
      ? part
      : part
          .replace(/^<!--.*-->\n?/gm, "")
          .replace(/(!?)(\[[^\]]*\])\((?!https?:|#)([^)#]+)/g, (_whole, mark, label, path) => {
            const target = posix.join(posix.dirname(file), path);
            return `${mark}${label}(${mark === "!" ? `${images}/${target}` : toAddress(target)}`;
          }),
  );
  return linked.join("");
}

const folder = process.cwd();
const one = published.find(({ name }) => name === basename(folder));
const thirdParty = one && renderThirdParty(one);
writeFileSync(join(folder, "LICENSE"), readFromRoot("LICENSE"));
if (thirdParty !== undefined) writeFileSync(join(folder, "THIRD-PARTY.md"), thirdParty);
const destination = join(folder, "docs");
rmSync(destination, { recursive: true, force: true });
mkdirSync(destination);
for (const guide of guides[basename(folder)] ?? [])
  writeFileSync(join(destination, `${guide}.md`), createCopy(`docs/guides/${guide}.md`));
