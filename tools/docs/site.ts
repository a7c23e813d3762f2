/** `npm run docs`: builds the site, and checks it for broken links, resources on other origins, and JSON Schemas that are not at their address. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { install } from "../install.ts";
import { root } from "../published.ts";

const attributes = /<(\w+)\b[^>]*?\s(href|src|srcset|data)="([^"]*)"/g;

const origin = "https://loyalty-cards.github.io";
/** The path of the site on its host. */
const base = "/loyalty-cards/";

/** Returns the file that a static host serves for a path without extension, such as `guides/sign-up`; undefined when there is none. */
function findFile(site: string, path: string): string | undefined {
  return [path, `${path}.html`, join(path, "index.html")]
    .map((file) => join(site, file))
    .find((file) => !relative(site, file).startsWith("..") && existsSync(file) && statSync(file).isFile());
}

/** Returns one sentence per broken link or external resource. */
export function checkSite(site: string): { problems: string[]; pages: number; links: number } {
  const pages = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".html"),
  );
  const anchors = new Map<string, Set<string>>();
  const readAnchors = (file: string) => {
    const known = anchors.get(file);
    if (known !== undefined) return known;
    const found = new Set(
      [...readFileSync(file, "utf8").matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id),
    );
    anchors.set(file, found);
    return found;
  };

  const problems: string[] = [];
  let links = 0;
  for (const page of pages) {
    const file = join(site, page);
    const text = readFileSync(file, "utf8");
    for (const [, tag = "", attribute = "", raw = ""] of text.matchAll(attributes)) {
      const target = raw.replaceAll("&amp;", "&");
      links++;
      if (/^(https?:)?\/\//.test(target)) {
        if (tag !== "a") problems.push(`${page} loads ${target} (${tag} ${attribute}) from another origin`);
        continue;
      }
      if (/^(data|mailto|javascript):/.test(target)) continue;
      const { pathname, hash } = new URL(target, `http://site${base}${page.replaceAll("\\", "/")}`);
      const anchor = hash.slice(1);
      const goal = target.startsWith("#")
        ? file
        : pathname.startsWith(base)
          ? findFile(site, decodeURIComponent(pathname.slice(base.length)))
          : undefined;
      if (goal === undefined) {
        problems.push(`${page} links to ${target}, which does not exist`);
      } else if (
        anchor !== "" &&
        goal.endsWith(".html") &&
        !readAnchors(goal).has(decodeURIComponent(anchor))
      ) {
        problems.push(`${page} links to ${target}, an anchor that does not exist`);
      }
    }
  }
  for (const style of readdirSync(join(site, "assets"), { encoding: "utf8" }).filter((file) =>
    file.endsWith(".css"),
  )) {
    const text = readFileSync(join(site, "assets", style), "utf8");
    for (const [, target] of text.matchAll(/(?:url\(|@import )["']?(https?:[^"')]+)/g)) {
      problems.push(`assets/${style} loads ${target} from another origin`);
    }
  }
  return { problems: [...new Set(problems)], pages: pages.length, links };
}

/** Returns one sentence per JSON Schema of a folder that the site does not have at the address of its `$id`. */
export function checkSchemas(site: string, folder: string): string[] {
  const address = `${origin}${base}`;
  return readdirSync(folder).flatMap((name) => {
    const schema = readFileSync(join(folder, name), "utf8");
    const { $id = "" } = JSON.parse(schema) as { $id?: string };
    const file = $id.startsWith(address) ? findFile(site, $id.slice(address.length)) : undefined;
    const isServed = file !== undefined && readFileSync(file, "utf8") === schema;
    return isServed ? [] : [`${name} has the $id "${$id}", where the site does not have this schema`];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install("docs");
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: join(root, "docs"),
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  const site = join(root, "docs/.vitepress/dist");
  const { problems, pages, links } = checkSite(site);
  problems.push(...checkSchemas(site, join(root, "packages/contract/events")));
  for (const problem of problems) console.error(problem);
  console.log(`${links} links on ${pages} pages, ${problems.length} broken`);
  process.exitCode = problems.length > 0 || pages < 40 ? 1 : 0;
}
