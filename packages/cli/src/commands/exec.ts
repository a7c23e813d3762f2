/**
 * `exec`: runs a command while the mock service runs, with the service's address and keys in its
 * environment.
 */
import { once } from "node:events";
import { constants } from "node:os";
import { watchParent } from "@loyalty-cards/internal/node-parent";
import { type Command, CommanderError } from "commander";
import spawn from "cross-spawn";
import { addExamples, type Cli, type Context, setAction } from "../command.ts";
import { CommandError } from "../command-error.ts";
import { addServiceOptions, type ServiceOptions, startService } from "../mock-service.ts";
import { printTraffic } from "../traffic-line.ts";

const needsDashes =
  "exec takes its command after two dashes: loyalty-cards exec -- npm test. (`npm exec` removes the first two dashes; use npx instead.)";

export function addExecCommand(program: Command, cli: Cli): void {
  const exec = program
    .command("exec")
    .summary("run a command while the mock service runs")
    .description(
      "run a command while the mock service runs, with LOYALTY_URL, LOYALTY_API_KEY, LOYALTY_FULL_API_KEY, LOYALTY_TEMPLATE_ID and LOYALTY_CONSOLE_URL in its environment; with a webhook endpoint also LOYALTY_SIGNING_SECRET. The exit code is that of the command; 128 and the number of the signal that ended it; 127 or 126 when it cannot be started",
    )
    .usage("[options] -- <command...>")
    .argument("[command...]", "the command and its arguments, after two dashes");
  addServiceOptions(exec, 0);
  addExamples(
    exec,
    "loyalty-cards exec -- npm test",
    "loyalty-cards exec --seed shop.json --quiet -- npx playwright test",
  );
  // An unknown option is misspelt, or one of the command whose dashes are missing.
  exec.exitOverride(({ exitCode, code, message }) => {
    const isMisspelt = message.includes("(Did you mean");
    throw new CommanderError(exitCode, code, isMisspelt ? message : `${message}. ${needsDashes}`);
  });
  const runSeparated = async (context: Context, options: ServiceOptions, command: string[]) => {
    // Without `--`, an option of the command could be read as an option of exec.
    const dashes = cli.args.indexOf("--");
    const isSeparated = dashes >= 0 && cli.args.length - dashes - 1 === command.length;
    if (!isSeparated) throw new CommandError(needsDashes);
    return runExec(context, options, command);
  };
  setAction(cli, exec, async () => runSeparated);
}

async function runExec(
  context: Context,
  options: ServiceOptions,
  command: string[],
): Promise<number> {
  // The traffic goes to stderr, also with --json, because the command writes to stdout.
  const { url, service, close } = await startService(context, options, (event, hasSeveral) =>
    printTraffic(context.print, event, hasSeveral),
  );
  const [endpoint] = service.endpoints;
  try {
    return await runProcess(command, {
      LOYALTY_URL: url,
      LOYALTY_API_KEY: service.apiKeys.website,
      LOYALTY_FULL_API_KEY: service.apiKeys.full,
      LOYALTY_TEMPLATE_ID: service.templateId,
      LOYALTY_CONSOLE_URL: `${url}/console`,
      ...(endpoint !== undefined && { LOYALTY_SIGNING_SECRET: endpoint.secret }),
    });
  } finally {
    await close();
  }
}

const forwardedSignals = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

/**
 * Runs a command with the streams of this process, and forwards signals to it.
 * @param variables added to the environment of this process.
 * @returns the command's exit code; 128 and the signal's number when a signal ended it, as shells
 * do.
 * @throws {CommandError} with exit code 127 when the command does not exist, and 126 when it is not
 * a program, as shells do.
 */
async function runProcess(
  [command = "", ...args]: readonly string[],
  variables: Record<string, string>,
): Promise<number> {
  // A process group of its own gets signals as a whole: npm does not end the processes that it
  // started. On a terminal the command stays in the group that the keyboard and Ctrl-C belong to.
  const hasGroup = process.platform !== "win32" && !process.stdin.isTTY;
  const forwardSignal = (signal: NodeJS.Signals) => {
    // The terminal has sent Ctrl-C to the command already; a second signal would end many programs
    // at once.
    if (signal === "SIGINT" && process.stdin.isTTY) return;
    if (hasGroup && child.pid !== undefined) process.kill(-child.pid, signal);
    else child.kill(signal);
  };
  // The listeners are added before the command starts: a signal that ended this process would leave
  // the command running.
  for (const signal of forwardedSignals) process.on(signal, forwardSignal);
  // On Windows npm and npx are scripts, which need a shell, with arguments quoted for it.
  const child = spawn(command, args, {
    stdio: "inherit",
    env: { ...process.env, ...variables },
    detached: hasGroup,
  });
  const stopWatching = watchParent(() => forwardSignal("SIGTERM"));
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals];
    return code ?? 128 + constants.signals[signal];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new CommandError(`"${command}" was not found.`, { exitCode: 127 });
    throw new CommandError(`The command cannot be run: ${message}.`, { exitCode: 126 });
  } finally {
    stopWatching();
    for (const signal of forwardedSignals) process.off(signal, forwardSignal);
  }
}
