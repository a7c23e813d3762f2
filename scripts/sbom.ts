/** Writes each package's bill of materials (CycloneDX) into `sbom/`: what npm installs with it, and what its files contain. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findContained } from "./licences.ts";
import { published, root } from "./published.ts";

interface Bill {
  components: { type: string; name: string; version: string; purl: string; licenses: unknown[] }[];
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
  // npm does not know what the bundler has put into the files.
  for (const { name, version, licence } of findContained(one)) {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    bill.components.push({ type: "library", name, version, purl, licenses: [{ license: { id: licence } }] });
  }
  writeFileSync(join(root, "sbom", `${one.name}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`sbom/${one.name}.cdx.json: ${bill.components.length} components`);
}
