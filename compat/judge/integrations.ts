/** What the judge is tested with: the examples, two more integrations that pass, and the mistakes that it finds. */
import { join } from "node:path";
import { root } from "../../tools/published.ts";
import { judge, type Result } from "./judge.ts";
import { type Mistake, plant } from "./mistakes.ts";
import { readSettings } from "./settings.ts";

export interface Integration {
  name: string;
  /** In the repository. */
  folder: string;
  /** Another command than that of its judge.json. */
  start?: string;
  /** Installs it in an empty folder with the packed packages, and builds it. */
  isBuilt?: true;
}

export const integrations: readonly Integration[] = [
  { name: "examples/express", folder: "examples/express" },
  { name: "examples/fastify", folder: "examples/fastify" },
  { name: "examples/getting-started on Express", folder: "examples/getting-started" },
  {
    name: "examples/getting-started on Fastify",
    folder: "examples/getting-started",
    start: "tsx shop-fastify.ts",
  },
  { name: "examples/next", folder: "examples/next", isBuilt: true },
  { name: "Koa and SQLite", folder: "compat/judge/integrations/koa" },
  { name: "node:http and PostgreSQL", folder: "compat/judge/integrations/node-postgres" },
];

/** Programs of this repository use the sources of the packages. */
export const sourceEnvironment = (folder: string): NodeJS.ProcessEnv =>
  folder.startsWith(root) ? sources : {};

const sources = { NODE_OPTIONS: "--conditions=@loyalty-cards/source" };

export async function judgeIntegration({ folder, start, isBuilt }: Integration): Promise<Result[]> {
  const path = join(root, folder);
  if (isBuilt) {
    const { installProject } = await import(new URL("../next/project.mjs", import.meta.url).href);
    const project = installProject();
    try {
      project.build();
      return await judge(project.folder, readSettings(project.folder));
    } finally {
      project.remove();
    }
  }
  return judge(path, { ...readSettings(path), ...(start && { start }) }, { env: sources });
}

/** Runs the first sign-up and the check that must find the mistake. */
export async function judgeMistake(mistake: Mistake): Promise<Result[]> {
  const { folder, remove } = plant(mistake);
  try {
    const settings = { ...readSettings(folder), recoverySeconds: 40 }; // the leases of SQLite last 30 s
    return await judge(folder, settings, { only: ["sign-up", mistake.foundBy], env: sources });
  } finally {
    remove();
  }
}
