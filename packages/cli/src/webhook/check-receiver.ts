/** `webhook doctor`: examines a running receiver. */
import { checkReceiver, type Finding } from "@loyalty-cards/mock-server/doctor";
import type { Context } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { formatCount, style, Text, text } from "../printable.ts";
import { readReceiver } from "./receiver.ts";

interface ReceiverCheckOptions {
  card?: string;
  verbose?: boolean;
  tolerance: number;
}

export async function runReceiverCheck(
  context: Context,
  options: ReceiverCheckOptions,
  address?: string,
): Promise<number> {
  const { print, sources, terminal, timeoutMs } = context;
  const { url, secret } = readReceiver(address, sources);
  const { card, tolerance: toleranceSeconds, verbose = false } = options;
  const abort = new AbortController();
  const remove = terminal.onInterrupt(() => abort.abort());
  let count = 0;
  function onFinding(finding: Finding): void {
    count += 1;
    if (!print.isJson && (verbose || finding.verdict !== "pass"))
      print.data(finding, () => formatFinding(print.columns, finding));
    print.status(
      style("dim", `${formatCount(count, "check")} done, the last one: ${finding.check}`),
    );
  }
  try {
    const report = await checkReceiver({
      url,
      secret,
      toleranceSeconds,
      cardId: card,
      timeoutMs,
      signal: abort.signal,
      onFinding,
    });
    print.data(report, () => formatSummary(report.findings));
    return report.passed ? exitCodes.complete : exitCodes.failed;
  } catch (error) {
    if (abort.signal.aborted) return exitCodes.interrupted;
    // `checkReceiver` throws it for an invalid option.
    if (error instanceof TypeError) throw new CommandError(error.message);
    throw error;
  } finally {
    print.status(undefined);
    remove();
  }
}

const marks = { pass: style("green", "✓"), fail: style("red", "✗"), warn: style("yellow", "!") };
/** The longest name of a check: the column of names is as wide. */
const longestName: Finding["check"] = "malformed-signature";

/**
 * Formats the check and what the receiver did, and on the next lines what was sent and what to
 * change.
 */
function formatFinding(columns: number, finding: Finding): Text {
  const { check, verdict, clause, sent, observed, advice } = finding;
  const first =
    text`${marks[verdict]} ${style("bold", check.padEnd(longestName.length))} ${observed}`.reflow(
      columns,
      "    ",
    );
  if (verdict === "pass") return first;
  const details = [`Sent: ${sent} (spec ${clause}).`, ...(advice === undefined ? [] : [advice])];
  return Text.lines([first, ...details.map((detail) => text`    ${detail}`.reflow(columns))]);
}

function formatSummary(findings: readonly Finding[]): Text {
  const count = (verdict: Finding["verdict"]) =>
    findings.filter((finding) => finding.verdict === verdict).length;
  const [passed, failed, warnings] = [count("pass"), count("fail"), count("warn")];
  const parts = [
    style("green", `${passed} passed`),
    ...(failed > 0 ? [style("red", `${failed} failed`)] : []),
    ...(warnings > 0 ? [style("yellow", `${formatCount(warnings, "warning")}`)] : []),
  ];
  return text`${formatCount(findings.length, "check")}: ${Text.join(parts, ", ")}.`;
}
