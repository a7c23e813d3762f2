/** The terminal pictures show what the commands print now. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { drawSession, maskFigures, toPath } from "../terminal.ts";
import { sessions } from "../terminal-sessions.ts";

it.each(sessions)("draws $name as its picture is (otherwise run npm run terminal)", async (session) => {
  const svg = await drawSession({ ...session, output: await session.run() });
  expect(maskFigures(readFileSync(toPath(session.name), "utf8"))).toBe(maskFigures(svg));
});
