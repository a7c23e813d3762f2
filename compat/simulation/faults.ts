export interface Patch {
  file: string;
  find: string;
  replace: string;
}
