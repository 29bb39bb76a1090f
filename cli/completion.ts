import { Argument, Command } from 'commander'
import { candidates } from './complete.ts'
import type { Named } from './find.ts'
import { Program, terminalOf } from './session.ts'

// Names are user input: the scripts quote them and never let the shell evaluate them.

const bash = `# Completion of berth for bash.
_berth() {
  local line=\${COMP_LINE:0:COMP_POINT} words=() last=-1 i
  # For bash, words end at = : and @ too: what no space stands between is one word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    if ((i == 0)) || [[ $line == [[:space:]]* ]]; then words[++last]=; fi
    line=\${line#"\${line%%[![:space:]]*}"}
    # The last one goes as far as the cursor.
    ((i == COMP_CWORD)) && words[last]+=$line || words[last]+=\${COMP_WORDS[i]}
    line=\${line#"\${COMP_WORDS[i]}"}
  done
  # Only what bash takes for the word is replaced.
  local kept=\${words[last]%"$2"} candidate
  kept=\${kept%[\\"\\']}
  COMPREPLY=()
  while IFS= read -r candidate; do
    # Within quotes bash quotes nothing: what would need it there is left out.
    case \${words[last]#"$kept"} in
      \\'*) [[ $candidate == *\\'* ]] && continue ;;
      \\"*) [[ $candidate == *[\\"\\\\\\$\\\`!]* ]] && continue ;;
      *) printf -v candidate %q "$candidate" ;;
    esac
    COMPREPLY+=("\${candidate#"$kept"}")
  done < <(berth __complete -- "\${words[@]:1}" 2> /dev/null)
}
complete -o default -F _berth berth
`

const zsh = `#compdef berth
# Completion of berth for zsh.
_berth() {
  local -a candidates
  candidates=("\${(@f)$(berth __complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ -n $candidates[1] ]]; then
    compadd -- "\${candidates[@]}"
  else
    _files
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _berth berth
`

const fish = `# Completion of berth for fish.
function __berth_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l candidates (berth __complete -- $words[2..-1] "$current" 2> /dev/null)
    if set -q candidates[1]
        printf '%s\\n' $candidates
    else
        __fish_complete_path "$current"
    end
end
complete -c berth -f -a '(__berth_complete)'
`

const scripts = { bash, zsh, fish }

const HELP = `
To enable completion, add this line to
  ~/.bashrc                   source <(berth completion bash)
  ~/.zshrc                    source <(berth completion zsh)
  ~/.config/fish/config.fish  berth completion fish | source
`

export function completionCommand(): Command {
  return new Command('completion')
    .description('print a shell completion script')
    .addArgument(new Argument('<shell>', 'shell to complete for').choices(Object.keys(scripts)))
    .addHelpText('after', HELP)
    .action((shell: keyof typeof scripts, _options: object, command: Command) => {
      terminalOf(command).stdout.write(scripts[shell])
    })
}

/** Called by the scripts with the words of the line so far, the last one to be completed. */
export function completeCommand(kinds: readonly Named[]): Command {
  return new Command('__complete')
    .argument('[words...]')
    .action(async (words: string[], _options: object, command: Command) => {
      const { parent } = command
      if (!(parent instanceof Program)) return
      const found = await candidates(parent, words, kinds)
      parent.terminal.stdout.write(found.map((candidate) => `${candidate}\n`).join(''))
    })
}
