/** `doctor`: checks the configuration and the service, and says how to fix what is wrong. */
import type { Context } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { style, Text, text } from "../printable.ts";
import { checkService, type ServiceCheck } from "./checks.ts";

export async function runDoctor(
  context: Context,
  { template = context.environment.LOYALTY_TEMPLATE_ID }: { template?: string },
): Promise<number> {
  const checks = await checkService(context, template);
  context.print.data({ checks }, () => formatChecks(checks, context.print.dataColumns));
  const failures = checks.filter(({ status }) => status === "failed");
  if (failures.length === 0 && !context.print.isJson)
    context.print.info("To check a webhook receiver: loyalty-cards webhook doctor URL");
  return Math.max(
    exitCodes.complete,
    ...failures.map(({ exitCode = exitCodes.failed }) => exitCode),
  );
}

const marks = {
  passed: style("green", "✓"),
  warning: style("yellow", "!"),
  failed: style("red", "✗"),
  skipped: style("dim", "–"),
};

/**
 * Formats a line for each check, with its fix below, and one line for all checks that were skipped
 * because they need the same value.
 */
function formatChecks(checks: readonly ServiceCheck[], columns: number): Text {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const skipped = checks.filter(({ missing }) => missing !== undefined);
  const lines = checks.flatMap(({ name, status, detail, fix, missing }) => {
    if (missing !== undefined) return [];
    const indentation = " ".repeat(width + 4);
    const lines = [text`${marks[status]} ${name.padEnd(width)}  ${detail}`];
    if (fix !== undefined) lines.push(text`${indentation}${fix}`);
    return lines.map((line) => line.reflow(columns, indentation));
  });
  const [first] = skipped;
  if (first?.missing !== undefined) {
    const subject = skipped.length === 1 ? "1 check needs" : `${skipped.length} checks need`;
    lines.push(text`${marks.skipped} ${subject} ${first.missing}`);
  }
  return Text.lines(lines);
}
