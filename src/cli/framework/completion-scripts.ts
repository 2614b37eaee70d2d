/** Each script asks the hidden command for candidates, so that a newer program needs no newer script. */
export type Shell = "bash" | "zsh" | "fish" | "powershell";

export const SHELLS: readonly Shell[] = ["bash", "fish", "powershell", "zsh"];

export function completionScript(shell: Shell, program: string, withDescriptions: boolean): string {
  const request = withDescriptions ? "__complete" : "__completeNoDesc";
  switch (shell) {
    case "bash":
      return bashScript(program, request);
    case "zsh":
      return zshScript(program, request);
    case "fish":
      return fishScript(program, request);
    case "powershell":
      return powershellScript(program, request);
  }
}

const bashScript = (
  program: string,
  request: string,
) => `# bash completion for ${program}                       -*- shell-script -*-

__start_${program}() {
    local line candidate word i cur="" count=0
    local -a words=()
    COMPREPLY=()
    # Readline breaks words at "=": --flag=value are three of them, of which the last is replaced.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word="\${COMP_WORDS[i]}"
        if [[ $count -gt 0 && "$word" == "=" && "$cur" == --* && "$cur" != *=* ]]; then
            cur+="="
        elif [[ $count -gt 0 && "$cur" == --*= && "\${COMP_WORDS[i-1]}" == "=" ]]; then
            cur+="$word"
        else
            cur="$word"
            count=$((count + 1))
        fi
        words[count-1]="$cur"
    done
    while IFS= read -r line; do
        case "$line" in
            :*) continue ;;
        esac
        candidate="\${line%%$'\\t'*}"
        if [[ "$candidate" == "$cur"* ]]; then
            if [[ "$cur" == --*=* && "\${COMP_WORDS[COMP_CWORD]}" != "$cur" ]]; then
                candidate="\${candidate#*=}"
            fi
            COMPREPLY+=("$candidate")
        fi
    done < <("\${COMP_WORDS[0]}" ${request} "\${words[@]}" 2>/dev/null)
    if [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -o default -F __start_${program} ${program}
`;

const zshScript = (program: string, request: string) => `#compdef ${program}
compdef _${program} ${program}

# zsh completion for ${program}                        -*- shell-script -*-

_${program}() {
    local -a candidates
    local line
    while IFS= read -r line; do
        case "$line" in
            :*) continue ;;
        esac
        candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    done < <("\${words[1]}" ${request} "\${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( \${#candidates} )); then
        _describe '${program}' candidates
    else
        _files
    fi
}

# When the script is sourced rather than autoloaded, the function must not run.
if [ "$funcstack[1]" = "_${program}" ]; then
    _${program}
fi
`;

const fishScript = (
  program: string,
  request: string,
) => `# fish completion for ${program}                       -*- shell-script -*-

function __${program.replaceAll("-", "_")}_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] ${request} $words[2..-1] $current 2>/dev/null | string match -v -r '^:'
end

complete -c ${program} -f -a '(__${program.replaceAll("-", "_")}_complete)'
`;

const powershellScript = (
  program: string,
  request: string,
) => `# powershell completion for ${program}                 -*- shell-script -*-

Register-ArgumentCompleter -Native -CommandName '${program}' -ScriptBlock {
    param($WordToComplete, $CommandAst, $CursorPosition)
    $Words = @($CommandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($WordToComplete -eq '') { $Words += '' }
    & $CommandAst.CommandElements[0].ToString() ${request} @Words 2>$null |
        Where-Object { -not $_.StartsWith(':') } |
        ForEach-Object {
            $Text, $Description = $_ -split "\`t", 2
            if (-not $Description) { $Description = $Text }
            [System.Management.Automation.CompletionResult]::new($Text, $Text, 'ParameterValue', $Description)
        }
}
`;
