/** Completion: the words that can follow on a command line, and the scripts that connect them with a shell. */
import type { Argument, Command, Option } from "commander";
import { type Text, text } from "./printable.ts";

export interface Candidates {
  words: { value: string; description: string }[];
  /** Whether file names are possible too. */
  hasFiles: boolean;
}

/** @param words the words after the name of the program; the last one is being typed and may be empty. */
export function findCandidates(program: Command, words: readonly string[]): Candidates {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? "";
  if (before.includes("--")) return { words: [], hasFiles: true }; // what follows `--` is the command line of another program
  let command = program;
  let pending: Option | undefined;
  let position = 0;
  for (const word of before) {
    if (pending !== undefined) pending = undefined;
    else if (word.startsWith("-")) pending = findValueOption(command, word);
    else {
      const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (child !== undefined && position === 0) command = child;
      else position += 1;
    }
  }
  if (pending !== undefined) return filter(listValues(pending), current);
  const [name = "", value] = current.split(/=(.*)/s);
  if (value !== undefined && name.startsWith("-")) {
    const option = findValueOption(command, name);
    return filter(option === undefined ? none : withPrefix(`${name}=`, listValues(option)), current);
  }
  return filter(current.startsWith("-") ? listOptions(command) : listOperands(command, position), current);
}

const none: Candidates = { words: [], hasFiles: false };

const ancestors = (command: Command): Command[] =>
  command.parent === null ? [command] : [command, ...ancestors(command.parent)];

const listAllOptions = (command: Command) =>
  ancestors(command).flatMap((one) => one.createHelp().visibleOptions(one));

const findValueOption = (command: Command, flag: string) =>
  listAllOptions(command).find(({ long, short, required }) => (long === flag || short === flag) && required);

function listOptions(command: Command): Candidates {
  // Each command has its own --help.
  const options = new Map(listAllOptions(command).map((option) => [option.long ?? option.flags, option]));
  return { words: [...options].map(([value, { description }]) => ({ value, description })), hasFiles: false };
}

/** The subcommands, and the values of the argument at this position. */
function listOperands(command: Command, position: number): Candidates {
  const children = position === 0 ? command.createHelp().visibleCommands(command) : [];
  const words = children.map((child) => ({ value: child.name(), description: child.description() }));
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[position] ?? (last?.variadic ? last : undefined);
  if (argument === undefined) return { words, hasFiles: false };
  const values = listValues(argument);
  return { words: [...words, ...values.words], hasFiles: values.hasFiles };
}

/** The choices of an option or argument; file names when it is named `file` or similar. */
function listValues(declared: Option | Argument): Candidates {
  const words = (declared.argChoices ?? []).map((value) => ({ value, description: "" }));
  const placeholder = "flags" in declared ? declared.flags : declared.name();
  return { words, hasFiles: /<\[?(file|folder)|^file|-file>/.test(placeholder) };
}

const withPrefix = (prefix: string, { words, hasFiles }: Candidates): Candidates => ({
  words: words.map(({ value, description }) => ({ value: prefix + value, description })),
  hasFiles,
});

const filter = ({ words, hasFiles }: Candidates, start: string): Candidates => ({
  words: words.filter(({ value }) => value.startsWith(start)),
  hasFiles,
});

/** A line per candidate, a tab before its description; `:files` stands for file names. */
export function formatCandidates({ words, hasFiles }: Candidates): Text[] {
  const lines = words.map(({ value, description }) => text`${value}\t${description.replaceAll("\n", " ")}`);
  return hasFiles ? [...lines, text`:files`] : lines;
}

/** Each script calls the hidden command `complete`. */
export const completionScripts = {
  bash: `# Completion of loyalty-cards: source <(loyalty-cards completion bash)
_loyalty_cards() {
  local line words=() current=\${COMP_WORDS[COMP_CWORD]}
  local index
  for ((index = 1; index <= COMP_CWORD; index++)); do
    # bash splits --option=value at the =
    [[ \${COMP_WORDS[index]} == "=" ]] || words+=("\${COMP_WORDS[index]}")
  done
  [[ $current == "=" ]] && { words+=(""); current=""; }
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("\${line%%$'\\t'*}")
    fi
  done < <(loyalty-cards complete -- "\${words[@]}" 2>/dev/null)
}
complete -F _loyalty_cards loyalty-cards
`,
  zsh: `#compdef loyalty-cards
# Completion of loyalty-cards, after compinit: source <(loyalty-cards completion zsh)
_loyalty_cards() {
  local line files
  local -a candidates
  for line in "\${(@f)$(loyalty-cards complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ":files" ]]; then
      files=1
    elif [[ -n $line ]]; then
      candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( $#candidates )) && _describe 'loyalty-cards' candidates
  [[ -n $files ]] && _files
}
compdef _loyalty_cards loyalty-cards
`,
  fish: `# Completion of loyalty-cards: loyalty-cards completion fish | source
function __loyalty_cards_complete
    set -l current (commandline --current-token)
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    for line in (loyalty-cards complete -- $words[2..] "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete --command loyalty-cards --no-files --arguments '(__loyalty_cards_complete)'
`,
  powershell: `# Completion of loyalty-cards: loyalty-cards completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName loyalty-cards -ScriptBlock {
  param($current, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
  # PowerShell 5 drops empty arguments; the command reads the pair of quotes as empty.
  $words += if ($current -eq '') { '""' } else { $current }
  loyalty-cards complete -- @words 2>$null | ForEach-Object {
    $value, $description = $_ -split "\`t", 2
    if ($value -ne ':files') {
      $text = if ($description) { $description } else { $value }
      [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
    }
  }
}
`,
} as const;
