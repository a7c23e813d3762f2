/** `exec`: runs a command while the mock service runs, with the service's address and keys in its environment. */
import type { Command } from "commander";
import {
  addExamples,
  type Cli,
  type Context,
  configureOptions,
  describeHelp,
  setAction,
} from "../command.ts";
import { CommandError } from "../command-error.ts";
import { runProcess } from "../command-process.ts";
import { readNamespace } from "../configuration.ts";
import { addServiceOptions, type ServiceOptions, startService } from "../mock-service.ts";
import { createTrafficLog } from "../webhook/traffic-line.ts";

const needsDashes =
  "exec takes its command after two dashes: loyalty-cards exec -- npm test. (`npm exec` removes the first two dashes; use npx instead.)";

export function addExecCommand(program: Command, cli: Cli): void {
  const exec = program
    .command("exec")
    .summary("run a command while the mock service runs")
    .description(
      "run a command while the mock service runs, with LOYALTY_URL, LOYALTY_API_KEY, LOYALTY_FULL_API_KEY, LOYALTY_TEMPLATE_ID and LOYALTY_CONSOLE_URL in its environment; with --forward also LOYALTY_SIGNING_SECRET. The exit code is that of the command; 128 and the number of the signal that ended it; 127 or 126 when it cannot be started",
    )
    .usage("[options] -- <command...>")
    .argument("<command...>", "the command and its arguments, after two dashes");
  addServiceOptions(exec, 0);
  addExamples(
    exec,
    "loyalty-cards exec -- npm test",
    "loyalty-cards exec --seed shop.json --quiet -- npx playwright test",
  );
  // With --json only its own errors are JSON, because the command writes to stdout.
  configureOptions(exec, program, { ignored: ["--base-url", "--no-input", "--timeout", "--json"] });
  setAction<ServiceOptions>(cli, exec, (context, options, command: string[]) => {
    // Without `--`, an option of the command could be read as an option of exec.
    const dashes = cli.args.indexOf("--");
    const isSeparated = dashes >= 0 && cli.args.length - dashes - 1 === command.length;
    if (!isSeparated) throw new CommandError(needsDashes);
    return runExec(context, options, command);
  }).showHelpAfterError(`${needsDashes} ${describeHelp(exec)}`);
}

async function runExec(context: Context, options: ServiceOptions, command: string[]): Promise<number> {
  const { print, environment } = context;
  // The traffic goes to stderr, also with --json, because the command writes to stdout.
  const log = createTrafficLog({ columns: print.columns, write: (line) => print.info(line) });
  const { server, signingSecret } = await startService(context, options, log.add);
  const { url, service } = server;
  try {
    return await runProcess(command, {
      LOYALTY_URL: url,
      LOYALTY_API_KEY: service.apiKeys.website,
      LOYALTY_FULL_API_KEY: service.apiKeys.full,
      LOYALTY_TEMPLATE_ID: service.templateId,
      LOYALTY_CONSOLE_URL: `${url}/console`,
      LOYALTY_IDEMPOTENCY_NAMESPACE: readNamespace(environment),
      ...(signingSecret !== undefined && { LOYALTY_SIGNING_SECRET: signingSecret }),
    });
  } finally {
    await server.close();
    log.end();
  }
}
