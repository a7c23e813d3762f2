/** The inbox and the outbox use a native SQLite library, so they are not bundled. */
import type { NextConfig } from "next";

export default {
  serverExternalPackages: [
    "@loyalty-cards/issuing-outbox",
    "@loyalty-cards/webhook-inbox",
    "libsql",
  ],
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig;
