/** Writes each package's bill of materials (CycloneDX) into `sbom/`: what npm installs with it, and what its files contain. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Published, published, root } from "../published.ts";
import { findContained } from "./licences.ts";

interface Bill {
  components: {
    "bom-ref"?: string;
    type: string;
    name: string;
    version: string;
    purl: string;
    licenses: unknown[];
  }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** For a package without dependencies npm lists all workspaces: keeps those that belong to this one. */
function removeOtherWorkspaces(bill: Bill, { manifest }: Published): void {
  const own = { ...manifest.dependencies, ...(manifest["devDependencies"] as object | undefined) };
  const names = new Set([manifest.name, ...Object.keys(own)]);
  const isOther = (ref = "") => ref.startsWith("@loyalty-cards/") && !names.has(ref.replace(/@[^@]*$/, ""));
  bill.components = bill.components.filter((component) => !isOther(component["bom-ref"]));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => !isOther(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => !isOther(one)) }));
}

mkdirSync(join(root, "sbom"), { recursive: true });
for (const one of published) {
  const omitted = ["dev", "optional", "peer"].flatMap((kind) => ["--omit", kind]);
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "library", ...omitted];
  const output = execFileSync("npm", [...args, "--workspace", one.manifest.name], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    shell: process.platform === "win32",
  });
  const bill: Bill = JSON.parse(output);
  removeOtherWorkspaces(bill, one);
  // npm does not know what the bundler has put into the files.
  for (const { name, version, licence } of findContained(one)) {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    bill.components.push({ type: "library", name, version, purl, licenses: [{ license: { id: licence } }] });
  }
  writeFileSync(join(root, "sbom", `${one.name}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`sbom/${one.name}.cdx.json: ${bill.components.length} components`);
}
