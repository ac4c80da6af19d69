/** What a shell runs when somebody presses Tab: the words after `paihao`, the last of which is to be completed. */
const ASK = "paihao __complete --";

/** The script of each shell. All ask the program itself, which prints a line `word<Tab>description` for each candidate. */
export const COMPLETION_SCRIPTS = {
  bash: `# For bash: source <(paihao completion bash)
_paihao() {
  local line
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do
    COMPREPLY+=("$line")
  done < <(${ASK} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _paihao paihao
`,
  zsh: `#compdef paihao
# For zsh, behind compinit: source <(paihao completion zsh)
_paihao() {
  local line
  local -a found
  for line in "\${(@f)$(${ASK} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe -V paihao found; else _files; fi
}
compdef _paihao paihao
`,
  fish: `# For fish: paihao completion fish | source
function __paihao_complete
  set -l words (commandline -opc) (commandline -ct)
  ${ASK} $words[2..-1] 2>/dev/null
end
complete -c paihao -f -k -a '(__paihao_complete)'
complete -c paihao -l file -l handlers -r -F
`,
} as const;
