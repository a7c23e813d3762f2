/** The packages need no setting: Next bundles them, and leaves libsql in node_modules. */
import type { NextConfig } from "next";

export default {
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig;
