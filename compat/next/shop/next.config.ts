/**
 * Plain, but for a folder per build. The packages are bundled: no serverExternalPackages, no
 * transpilePackages.
 */
import type { NextConfig } from "next";

export default {
  distDir: process.env.BUILD_FOLDER ?? ".next",
  turbopack: { root: import.meta.dirname },
  typescript: { ignoreBuildErrors: process.env.TYPES_WERE_CHECKED === "yes" },
} satisfies NextConfig;
