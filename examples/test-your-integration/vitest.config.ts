/** Finds the packages of this repository in their sources. A shop of its own, where they are installed, needs no such file. */
import { defineConfig } from "vitest/config";

const conditions = ["@loyalty-cards/source", "node", "development|production"];

export default defineConfig({ resolve: { conditions }, ssr: { resolve: { conditions } } });
