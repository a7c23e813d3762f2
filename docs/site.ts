/** Reads a built site and names what is broken in it: links that lead nowhere, and anything it would load from elsewhere. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const attributes = /<(\w+)\b[^>]*?\s(href|src|srcset|data)="([^"]*)"/g;

/** One sentence per broken link; none when the site is whole. */
export function faultsOf(site: string): { faults: string[]; pages: number; links: number } {
  const pages = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".html"),
  );
  const anchors = new Map<string, Set<string>>();
  const anchorsOf = (file: string) => {
    const known = anchors.get(file);
    if (known !== undefined) return known;
    const found = new Set(
      [...readFileSync(file, "utf8").matchAll(/\s(?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id),
    );
    anchors.set(file, found);
    return found;
  };

  const faults: string[] = [];
  let links = 0;
  for (const page of pages) {
    const file = join(site, page);
    const text = readFileSync(file, "utf8");
    for (const [, tag = "", attribute = "", raw = ""] of text.matchAll(attributes)) {
      const target = raw.replaceAll("&amp;", "&");
      links++;
      if (/^(https?:)?\/\//.test(target)) {
        if (tag !== "a") faults.push(`${page} loads ${target} (${tag} ${attribute}) from elsewhere`);
        continue;
      }
      if (/^(data|mailto|javascript):/.test(target)) continue;
      const [path = "", anchor = ""] = target.split("#");
      const goal = path === "" ? file : resolve(dirname(file), decodeURIComponent(path));
      if (relative(site, goal).startsWith("..") || !existsSync(goal) || !statSync(goal).isFile()) {
        faults.push(`${page} links to ${target}, which is not there`);
      } else if (
        anchor !== "" &&
        goal.endsWith(".html") &&
        !anchorsOf(goal).has(decodeURIComponent(anchor))
      ) {
        faults.push(`${page} links to ${target}, where nothing has that name`);
      }
    }
  }
  for (const style of readdirSync(join(site, "assets"), { encoding: "utf8" }).filter((file) =>
    file.endsWith(".css"),
  )) {
    const text = readFileSync(join(site, "assets", style), "utf8");
    for (const [, target] of text.matchAll(/(?:url\(|@import )["']?(https?:[^"')]+)/g)) {
      faults.push(`assets/${style} loads ${target} from elsewhere`);
    }
  }
  return { faults: [...new Set(faults)], pages: pages.length, links };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { faults, pages, links } = faultsOf(fileURLToPath(new URL("api", import.meta.url)));
  for (const fault of faults) console.error(fault);
  console.log(`${links} links on ${pages} pages, ${faults.length} broken`);
  process.exitCode = faults.length > 0 || pages < 50 ? 1 : 0;
}
