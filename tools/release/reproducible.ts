/** Builds again in another folder and compares the tarballs byte by byte: the build does not depend on the machine. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { published, root } from "../published.ts";
import { npmPack, pack } from "./pack.ts";

/** On the same disk as `node_modules`, whose files are hard-linked. Its path has another length and depth. */
const copy = join(root, ".twin", "the-same-sources-in-a-folder-of-another-name");

/** The sources as they are now, committed or not. */
function copySources(): void {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
  for (const path of listed.split("\0")) {
    if (path !== "") cpSync(join(root, path), join(copy, path), { force: true });
  }
}

/** Hard links to files; symbolic links stay as they are: those of workspaces lead to the copy's own packages. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name.startsWith(".") && entry.isDirectory() && entry.name !== ".bin") continue; // caches
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target, "junction");
    else linkSync(source, target);
  }
}

function moduleFolders(): string[] {
  const workspaces = ["", ...published.map(({ folder }) => relative(root, folder))];
  return workspaces
    .filter((path) => readdirSync(join(root, path)).includes("node_modules"))
    .map((path) => join(path, "node_modules"));
}

rmSync(dirname(copy), { recursive: true, force: true });
try {
  copySources();
  for (const folder of moduleFolders()) linkTree(join(root, folder), join(copy, folder));
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: copy,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  let differing = 0;
  for (const { name, folder } of published) {
    const other = join(copy, relative(root, folder));
    const [first, second] = [pack(folder), npmPack(other)];
    if (first.integrity === second.integrity) {
      console.log(`✓ ${name} ${first.integrity.slice(0, 24)}… twice`);
      continue;
    }
    differing += 1;
    const bytes = (where: string, path: string) => {
      return existsSync(join(where, path)) ? readFileSync(join(where, path), "latin1") : undefined;
    };
    const paths = [...new Set([...first.paths, ...second.paths])];
    const different = paths.filter((path) => bytes(folder, path) !== bytes(other, path));
    console.log(`✗ ${name}, built here (npm run build) and elsewhere, differs in ${different.join(", ")}`);
  }
  process.exitCode = differing === 0 ? 0 : 1;
} finally {
  rmSync(dirname(copy), { recursive: true, force: true });
}
