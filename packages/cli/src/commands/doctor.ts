/** `doctor`: checks the configuration and the service, and says how to fix what is wrong. */
import type { Command } from "commander";
import { addExamples, type Cli, setAction } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import type { Check } from "../doctor/result.ts";
import { style, Text, text } from "../printable.ts";

export function addDoctorCommand(program: Command, cli: Cli): void {
  const doctor = program
    .command("doctor")
    .description("check the configuration, clock, key, template and contract; changes nothing")
    .option("--template <id>", "template to check (default: LOYALTY_TEMPLATE_ID)");
  addExamples(doctor, "loyalty-cards doctor", "loyalty-cards doctor --template tpl_bakery --json");
  setAction<{ template?: string }>(cli, doctor, async (context, { template }) => {
    context.print.info("doctor issues no card: it sends only requests that change nothing.");
    const { checkService } = await import("../doctor/check-service.ts");
    const checks = await checkService(context, template ?? context.environment.LOYALTY_TEMPLATE_ID);
    context.print.data({ checks }, () => formatChecks(checks).reflow(context.print.dataColumns));
    const failures = checks.filter(({ status }) => status === "failed");
    return Math.max(exitCodes.complete, ...failures.map(({ exitCode = exitCodes.failed }) => exitCode));
  });
}

const marks = {
  passed: ["green", "✓"],
  warning: ["yellow", "!"],
  failed: ["red", "✗"],
  skipped: ["dim", "–"],
} as const;

/** A line per check, and its fix below. */
function formatChecks(checks: readonly Check[]): Text {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, status, detail, fix }) => {
    const [color, mark] = marks[status];
    const line = text`${style(color, mark)} ${name.padEnd(width)}  ${detail}`;
    return fix === undefined ? [line] : [line, `${" ".repeat(width + 4)}${fix}`];
  });
  return Text.lines(lines);
}
