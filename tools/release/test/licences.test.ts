/** Which SPDX expressions are permissive licences. */
import { expect, it } from "vitest";
import { isPermissive } from "../licences.ts";

it.each(["MIT", "Apache-2.0", "0BSD", "(MPL-2.0 OR Apache-2.0)", "MIT AND ISC", "GPL-3.0-only OR MIT"])(
  "accepts %s",
  (licence) => expect(isPermissive(licence)).toBe(true),
);

it.each([
  "GPL-3.0-only",
  "AGPL-3.0",
  "MPL-2.0",
  "MIT AND GPL-2.0",
  "(MIT AND GPL-2.0) OR LGPL-3.0",
  "SEE LICENSE IN LICENSE.md",
  "none",
  "UNLICENSED",
  "mit-ish",
  "",
])("rejects %j", (licence) => expect(isPermissive(licence)).toBe(false));
