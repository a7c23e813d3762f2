/** The shop of the guide "Getting started" on Next: packages that use a native SQLite library are not bundled. */
// #region next-config
// next.config.ts
export default {
  serverExternalPackages: ["@loyalty-cards/issuing-outbox", "libsql"],
};
// #endregion
