//! `planwright completions SHELL`: prints the completion script of a shell.

use clap_complete::Shell;

use super::{Exit, Output, Result};

/// Print a completion script for a shell.
///
/// Verbs, options, plans, tasks, runs and agents are completed; in elvish, verbs and options.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo 'source <(planwright completions bash)' >> ~/.bashrc
  planwright completions zsh > ~/.zfunc/_planwright
  planwright completions fish > ~/.config/fish/completions/planwright.fish
  planwright completions powershell >> $PROFILE")]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        Shell::PowerShell => POWERSHELL,
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(
                shell,
                &mut super::command(super::Listed::All),
                "planwright",
                &mut script,
            );
            output.write_bytes(&script);
            return Ok(Exit::Success);
        }
    };
    output.write_bytes(script.as_bytes());
    Ok(Exit::Success)
}

// Each script runs `planwright __complete` for the matching words.

const BASH: &str = r#"# Completions of planwright for bash.
_planwright() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) compopt -o default 2>/dev/null ;;
            *) COMPREPLY+=("$(printf '%q' "${line%%$'\t'*}")") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _planwright planwright
"#;

const ZSH: &str = r#"#compdef planwright
# Completions of planwright for zsh.
_planwright() {
    local -a found
    local line value help files=0
    for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :files ]]; then
            files=1
        elif [[ -n $line ]]; then
            value=${line%%$'\t'*}
            help=${line#*$'\t'}
            found+=("${value//:/\\:}:$help")
        fi
    done
    (( $#found )) && _describe -V planwright found
    (( files )) && _files
}
if [ "$funcstack[1]" = "_planwright" ]; then
    _planwright "$@"
else
    compdef _planwright planwright
fi
"#;

const FISH: &str = r#"# Completions of planwright for fish.
function __planwright_found
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete $words[2..] "$current" 2>/dev/null
end
function __planwright_wants_files
    __planwright_found | string match -q ':files'
end
complete -c planwright -n 'not __planwright_wants_files' -f
complete -c planwright -n __planwright_wants_files -F
complete -c planwright -a "(__planwright_found | string match -v ':files')"
"#;

/// For PowerShell. It passes no empty arguments to programs, so an option stands for one.
const POWERSHELL: &str = r#"# Completions of planwright for PowerShell.
Register-ArgumentCompleter -Native -CommandName planwright -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        Select-Object -Skip 1 |
        ForEach-Object { $_.Extent.Text.Trim("'", '"') })
    $first = @()
    if ($wordToComplete -eq '') { $first = @('--empty') }
    & planwright __complete @first @words 2>$null |
        Where-Object { $_ -ne ':files' } |
        ForEach-Object {
            $value, $help = $_ -split "`t", 2
            if (-not $help) { $help = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $help)
        }
}
"#;
