export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof shells)[number];

/** The script that a shell reads; it asks `thv __complete` for each word and shows what comes back. */
export function completionScript(shell: Shell): string {
  return { bash, zsh, fish, powershell }[shell];
}

// A candidate line is "word<TAB>description"; the last line is ":4" for "no file names" and ":0" for "file names too".
const bash = `# bash completion for thv; load it with: source <(thv completion bash)
_thv() {
  local current="\${COMP_WORDS[COMP_CWORD]}" line directive=:4 words
  words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :*) directive="$line" ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" __complete "\${words[@]}" 2>/dev/null)
  if [[ "$directive" == :0 && \${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _thv thv
`;

const zsh = `#compdef thv
# zsh completion for thv; load it with: source <(thv completion zsh)
_thv() {
  local line directive=":4" tab=$'\\t'
  local -a candidates
  for line in "\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == :* ]]; then
      directive="$line"
    elif [[ -n "$line" ]]; then
      candidates+=("\${\${line%%$tab*}//:/\\\\:}:\${line#*$tab}")
    fi
  done
  if (( \${#candidates} )); then
    _describe -t thv thv candidates
  elif [[ "$directive" == ":0" ]]; then
    _files
  fi
}
compdef _thv thv
`;

const fish = `# fish completion for thv; load it with: thv completion fish | source
function __thv_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
    if string match -q ':0' -- $line
      __fish_complete_path (commandline -ct)
    else if not string match -q ':*' -- $line
      echo $line
    end
  end
end
complete -c thv -f -a '(__thv_complete)'
`;

const powershell = `# PowerShell completion for thv; load it with: thv completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName thv -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -eq '') { $words += '' }
  & thv __complete @words 2>$null | Where-Object { $_ -notlike ':*' } | ForEach-Object {
    $parts = $_ -split "\`t", 2
    $hint = if ($parts.Length -gt 1 -and $parts[1]) { $parts[1] } else { $parts[0] }
    [System.Management.Automation.CompletionResult]::new($parts[0], $parts[0], 'ParameterValue', $hint)
  }
}
`;
