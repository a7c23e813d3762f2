/** `webhook listen`: shows what a tunnel delivers to a local receiver. */
import type { Context } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { formatTable, formatTime, style, Text, text } from "../printable.ts";
import { waitForStop } from "../printer.ts";
import { readReceiverUrl, readSecret } from "./delivery.ts";
import { type ProxiedDelivery, startProxy } from "./proxy.ts";
import { describeNoResponse } from "./send-delivery.ts";

export interface ListenOptions {
  to?: string;
  port: number;
  forwardRejected?: boolean;
  tolerance: number;
  secretEnv?: string;
}

export async function runListen(context: Context, options: ListenOptions): Promise<undefined> {
  const { print, environment, terminal, timeoutMs } = context;
  const to = readReceiverUrl(options.to, environment);
  const advised = new Set<string>();

  function onDelivery(delivery: ProxiedDelivery): void {
    print.data(toJson(delivery), () => formatDelivery(delivery));
    const advice = findAdvice(delivery, to);
    if (advice === undefined || print.isJson || advised.has(advice)) return;
    advised.add(advice); // each advice is printed once
    print.info(style("yellow", Text.from(advice).wrap(print.columns, " ".repeat(24))));
  }

  const proxy = await startProxy({
    to,
    secret: readSecret(environment, options.secretEnv),
    port: options.port,
    timeoutMs,
    toleranceSeconds: options.tolerance,
    forwardsRejected: options.forwardRejected ?? false,
    onDelivery,
    now: Date.now,
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new CommandError(`Port ${options.port} is in use: use --port; --port 0 takes a free one.`);
  });
  const stopped = waitForStop(terminal);
  const rows = [
    ["Tunnel to", style("cyan", proxy.url)],
    ["Receiver", to.href],
  ];
  if (print.isJson) print.data({ kind: "ready", url: proxy.url, to: to.href }, () => "");
  else
    print.info(
      text`${style("bold", "Listening")} for deliveries. Ctrl-C stops it.\n\n${formatTable(rows)}\n`,
    );
  await stopped;
  await proxy.close();
  print.info("Stopped.");
  return undefined;
}

function toJson({ receivedAt, event, rejected, result, status }: ProxiedDelivery) {
  return {
    kind: "delivery",
    receivedAt,
    verified: event !== undefined,
    ...(rejected !== undefined && { rejected }),
    ...(event && { type: String(event.type), id: event.id }),
    ...(result && { durationMs: result.durationMs }),
    ...(result && "error" in result && { error: result.error }),
    status,
  };
}

/** `12:31:07  204    12 ms  ✓ balance.changed  evt_0mm…`. */
function formatDelivery({ receivedAt, event, rejected, result, status }: ProxiedDelivery): Text {
  const duration = result === undefined ? "" : `${result.durationMs} ms`;
  const error = result !== undefined && "error" in result ? `  ${result.error}` : "";
  const columns = [
    style("dim", formatTime(Date.parse(receivedAt))),
    style(status < 300 ? "green" : "red", String(status)),
    style("dim", duration.padStart(7)),
    event === undefined
      ? text`${style("red", `✗ rejected: ${rejected}`)}${error}`
      : text`${style("green", "✓")} ${style("bold", String(event.type))}  ${style("dim", event.id)}${error}`,
  ];
  return Text.join(columns, "  ");
}

function findAdvice({ rejected, result }: ProxiedDelivery, to: URL): string | undefined {
  if (result !== undefined && "error" in result) return describeNoResponse(result.error, to);
  switch (rejected) {
    case "mismatch":
      return "Is it the secret of this endpoint? Or does the tunnel change the body?";
    case "missing-signature":
      return "Not from the service, or the tunnel removes Service-Signature.";
    case "stale":
    case "future":
      return "Synchronize the clock of this machine.";
    case "method":
      return "The service delivers with POST: this was something else.";
    default:
      return undefined;
  }
}
