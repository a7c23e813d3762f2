/**
 * Stands for openapi-typescript-helpers while the declarations are built: its manifest does not
 * name its types, so tsup would leave the import.
 */
export type * from "openapi-typescript-helpers/dist/index.d.mts";
