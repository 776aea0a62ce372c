// What each shell runs to complete a command line of ours: it asks the executable, so that a script that was saved never grows old.

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** A line of the answer is a word, a tab and what it is; or `:file` or `:folder`, which the shell knows better. */
const BASH = `# Completion of heddle for bash: source <(heddle completion bash)
_heddle() {
  local line current=\${COMP_WORDS[COMP_CWORD]}
  [[ $current == [=:]* ]] && current=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file | :folder)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
          if [[ $line == :folder ]]; then compgen -d -- "$current"; else compgen -f -- "$current"; fi
        )
        ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(heddle completion words bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _heddle heddle
`;

const ZSH = `#compdef heddle
# Completion of heddle for zsh: source <(heddle completion zsh)
_heddle() {
  local line
  local -a proposals
  while IFS= read -r line; do
    case $line in
      :file) compset -P '--*='; _files; return ;;
      :folder) compset -P '--*='; _files -/; return ;;
      *) proposals+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <(heddle completion words zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  compset -P '--*='
  _describe heddle proposals
}
if [[ $funcstack[1] == _heddle ]]; then _heddle "$@"; else compdef _heddle heddle; fi
`;

const FISH = `# Completion of heddle for fish: heddle completion fish | source
function __heddle_complete
    set -l current (commandline -ct)
    set -l typed (commandline -opc) "$current"
    set -l lines (heddle completion words fish -- $typed[2..-1] 2>/dev/null)
    set -l kept (string match -r '^--[^=]+=' -- "$current")
    set -l rest (string replace -r '^--[^=]+=' '' -- "$current")
    switch "$lines[1]"
        case :file
            __fish_complete_path "$rest" | string replace -r '^' -- "$kept"
        case :folder
            __fish_complete_directories "$rest" | string replace -r '^' -- "$kept"
        case '*'
            string join \\n -- "$kept"$lines
    end
end
complete -c heddle -f -a '(__heddle_complete)'
`;

export const scriptOf = (shell: Shell): string => ({ bash: BASH, zsh: ZSH, fish: FISH })[shell];
