/** `capabilities`. */
import { describe, expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

describe("capabilities", () => {
  it("describes every command with its arguments and options, as the help has them", async () => {
    const { stdout } = await runCommand(["capabilities", "--json"]);
    const { commands, globalOptions, exitCodes, environment } = JSON.parse(stdout);
    const consent = commands.find(({ name }: { name: string }) => name === "consent");
    expect(consent).toMatchObject({
      usage: "consent [options] <card-id>",
      arguments: [{ name: "card-id", required: true }],
      options: [{ name: "--set", takesValue: true, choices: ["yes", "no"] }, { name: "--version" }],
    });
    expect(globalOptions).toContainEqual(expect.objectContaining({ name: "--json", takesValue: false }));
    expect(exitCodes).toContainEqual({ code: 4, description: "the service rejected the API key" });
    expect(environment).toContainEqual({ name: "LOYALTY_API_KEY", description: "API key" });
  });

  it("prints the names and descriptions for people", async () => {
    const { stdout } = await runCommand(["capabilities"]);
    expect(stdout).toMatch(/^issue +issue a card to one user/m);
  });
});
