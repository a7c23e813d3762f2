/**
 * Process images: a program and the packages that it imports, as one function. Each call of the
 * function is a new process: its modules have their own state, and its globals (time, timers,
 * randomness, network, console) are those of the simulation.
 */
import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import type { Patch } from "./faults.ts";

/** @param globals those of the process; every other one is that of this process. */
export type Image = (globals: Record<string, unknown>) => Promise<void>;

/** The programs of the simulation. The shops are the examples, unchanged. */
const programs = {
  express: "examples/express/main.ts",
  fastify: "compat/simulation/programs/fastify.ts",
  service: "compat/simulation/programs/service.ts",
  bookkeeper: "compat/simulation/programs/bookkeeper.ts",
  till: "compat/simulation/programs/till.ts",
};

export type ProgramName = keyof typeof programs;
export type Images = Record<ProgramName, Image>;

interface ImageOptions {
  /** Use `dist/` of each package instead of its sources. */
  isBuilt?: boolean;
  /** A planted fault: text of a source file that is replaced. */
  patch?: Patch;
}

export async function buildImages({ isBuilt = false, patch }: ImageOptions): Promise<Images> {
  const { outputFiles } = await build({
    absWorkingDir: resolve(import.meta.dirname, "../.."),
    entryPoints: programs,
    outdir: "simulation",
    bundle: true,
    write: false,
    format: "esm", // top-level await stays, as the body of an async function
    platform: "node",
    target: "node20",
    conditions: isBuilt ? [] : ["@loyalty-cards/source"],
    define: { "import.meta.url": '"file:///simulation/program.mjs"' },
    plugins: [external, ...(patch ? [plant(patch)] : [])],
    logLevel: "error",
  });
  const names = Object.keys(programs) as ProgramName[];
  const images = names.map((name, index) => [
    name,
    createImage(name, outputFiles[index]?.text ?? ""),
  ]);
  return Object.fromEntries(images);
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...values: unknown[]) => Promise<void>;

function createImage(name: string, code: string): Image {
  const body = `"use strict";\n${code}\n//# sourceURL=simulation/${name}.mjs`;
  let run: InstanceType<typeof AsyncFunction> | undefined;
  return (globals) => {
    run ??= new AsyncFunction(...Object.keys(globals), body);
    return run(...Object.values(globals));
  };
}

/**
 * Frameworks, databases and modules of Node.js are not part of an image: `require` of the process
 * returns them.
 */
const external: Plugin = {
  name: "external",
  setup({ onResolve, onLoad }) {
    const names = [...builtinModules, "express", "fastify"];
    const filter = new RegExp(`^(node:.*|${names.join("|")})$`);
    onResolve({ filter }, ({ path, namespace }) =>
      namespace === "external" ? { path, external: true } : { path, namespace: "external" },
    );
    onLoad({ filter: /.*/, namespace: "external" }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

const plant = ({ file, find, replace }: Patch): Plugin => ({
  name: "plant",
  setup({ onLoad }) {
    onLoad({ filter: new RegExp(`${file.replaceAll(".", "\\.")}$`) }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (text.split(find).length !== 2)
        throw new Error(
          `${file} does not contain the text of this planted fault once; correct compat/simulation/faults.ts: ${find}`,
        );
      return { contents: text.replace(find, () => replace), loader: "ts" };
    });
  },
});
