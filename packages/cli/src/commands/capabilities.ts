/** `capabilities`: the tree of commands as data, for scripts and coding agents. It is derived from the commands themselves. */
import type { Argument, Command, Option } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { addExamples, type Cli, configureOptions, RequiredOption, setAction } from "../command.ts";
import { exitCodeDescriptions, exitCodes } from "../command-error.ts";
import { variables } from "../configuration.ts";
import { formatTable } from "../printable.ts";

interface Value {
  name: string;
  description: string;
  required: boolean;
  variadic: boolean;
  choices?: readonly string[];
  default?: unknown;
}

interface CommandDescription {
  /** The name with those of its parent commands, such as `webhook verify`. */
  name: string;
  description: string;
  usage: string;
  arguments: Value[];
  options: (Value & { flags: string; takesValue: boolean })[];
  /** The global options that have no effect on this command. */
  ignoredOptions?: string[];
  commands: CommandDescription[];
}

export function addCapabilitiesCommand(program: Command, cli: Cli): void {
  const capabilities = program
    .command("capabilities")
    .description("print all commands, options, exit codes and environment variables");
  addExamples(capabilities, "loyalty-cards capabilities --json");
  configureOptions(capabilities, program, { ignored: ["--base-url", "--no-input", "--timeout"] });
  setAction(cli, capabilities, async ({ print }) => {
    const { commands, options } = describeCommand(program, program);
    const environment = Object.entries(variables).map(([name, description]) => ({ name, description }));
    const codes = Object.entries(exitCodes).map(([name, code]) => ({
      code,
      description: exitCodeDescriptions[name as keyof typeof exitCodes],
    }));
    const value = {
      name: program.name(),
      version: packageJson.version,
      description: program.description(),
      globalOptions: options,
      commands,
      exitCodes: codes,
      environment,
    };
    print.data(value, () =>
      formatTable(flatten(commands).map(({ name, description }) => [name, description])),
    );
    return undefined;
  });
}

function describeCommand(
  command: Command,
  program: Command,
  above: readonly string[] = [],
): CommandDescription {
  const names = command.parent === null ? [] : [...above, command.name()];
  const help = command.createHelp();
  const globals = help.visibleGlobalOptions(command);
  const ignored =
    command === program
      ? []
      : program.options
          .filter((option) => option.long !== "--version" && !globals.includes(option))
          .map(toName);
  return {
    name: names.join(" "),
    description: command.description(),
    usage: [...names, command.usage()].join(" "),
    arguments: command.registeredArguments.map(describeArgument),
    // Includes the options of its parent that it uses, such as --map of `import check`.
    options: [
      ...help.visibleOptions(command).filter(({ long }) => long !== "--help"),
      ...globals.filter((option) => !program.options.includes(option)),
    ].map(describeOption),
    ...(ignored.length > 0 && { ignoredOptions: ignored }),
    commands: help
      .visibleCommands(command)
      .filter((child) => child.name() !== "help")
      .map((child) => describeCommand(child, program, names)),
  };
}

const describeArgument = (argument: Argument): Value => ({
  name: argument.name(),
  description: argument.description,
  required: argument.required,
  variadic: argument.variadic,
  ...(argument.argChoices && { choices: argument.argChoices }),
  ...(argument.defaultValue !== undefined && { default: argument.defaultValue }),
});

const toName = ({ long, flags }: Option) => long ?? flags;

const describeOption = (option: Option) => ({
  name: toName(option),
  flags: option.flags,
  description: option.description,
  required: option instanceof RequiredOption,
  variadic: option.variadic,
  takesValue: !option.isBoolean(),
  ...(option.argChoices && { choices: option.argChoices }),
  ...(option.defaultValue !== undefined && !option.negate && { default: option.defaultValue }),
});

const flatten = (commands: readonly CommandDescription[]): CommandDescription[] =>
  commands.flatMap((command) => [command, ...flatten(command.commands)]);
