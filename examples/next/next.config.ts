/** The inbox uses a native SQLite library, so it is not bundled. */
import type { NextConfig } from "next";

export default {
  serverExternalPackages: ["@loyalty-cards/webhook-inbox", "libsql"],
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig;
