/** The inbox opens a database with a native library, so it stays a package and is not bundled. */
import type { NextConfig } from "next";

export default {
  serverExternalPackages: ["@loyalty-cards/webhook-inbox", "libsql"],
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig;
