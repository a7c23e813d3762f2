/** `completion`: the script for a shell; and `complete`, which that script calls. */
import { Argument, type Command } from "commander";
import { addExamples, type Cli, configureOptions, setAction } from "../command.ts";
import { Text } from "../printable.ts";
import { Printer } from "../printer.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const;

export function addCompletionCommand(program: Command, cli: Cli): void {
  const completion = program
    .command("completion")
    .description("print the script that completes commands and options in your shell")
    .addArgument(new Argument("<shell>", "your shell").choices(shells));
  addExamples(
    completion,
    "source <(loyalty-cards completion bash)    # in ~/.bashrc",
    "source <(loyalty-cards completion zsh)     # in ~/.zshrc, after compinit",
    "loyalty-cards completion fish | source     # in ~/.config/fish/config.fish",
  );
  configureOptions(completion, program, { ignored: ["--base-url", "--no-input", "--timeout"] });
  setAction(cli, completion, async ({ print }, _options, shell: (typeof shells)[number]) => {
    const { completionScripts } = await import("../completion.ts");
    const script = completionScripts[shell];
    print.data(script, () => Text.multiline(script.trimEnd()));
    return undefined;
  });

  program
    .command("complete", { hidden: true })
    .description("print the words that can follow")
    .argument("[words...]")
    .action(async (words: string[]) => {
      const { findCandidates, formatCandidates } = await import("../completion.ts");
      const typed = words.map((word) => (word === '""' ? "" : word));
      const print = new Printer(cli.terminal);
      for (const line of formatCandidates(findCandidates(program, typed))) print.data(undefined, () => line);
    });
}
