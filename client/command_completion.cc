// sluicectl completion: what a shell needs to ask sluicectl itself what could
// come next. The scripts know no command, and so are never out of date.

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "client/cli.h"

namespace sluice::client {
namespace {

// Readline cuts words at ":" and "=" and replaces the last piece only; so the
// words are taken from the line, and what stands before that piece comes off.
constexpr char kBash[] = R"(# sluicectl completion for bash:   source <(sluicectl completion bash)
_sluicectl() {
  local line=${COMP_LINE:0:COMP_POINT} words word lines kept
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  COMPREPLY=()
  mapfile -t lines < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  case ${lines[0]:-} in
    files) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "${word#-*=}") ;;
    folders) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "${word#-*=}") ;;
    words)
      kept=${word%"${word##*[:=]}"}
      for line in "${lines[@]:1}"; do
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$kept"}")
      done
      ;;
  esac
}
complete -F _sluicectl sluicectl
)";

constexpr char kZsh[] = R"(#compdef sluicectl
# sluicectl completion for zsh:   source <(sluicectl completion zsh)
# or this output as a file named _sluicectl in a folder of $fpath.
_sluicectl() {
  local -a lines described
  local line tab=$'\t'
  lines=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  case $lines[1] in
    files) _files ;;
    folders) _files -/ ;;
    words)
      for line in "${(@)lines[2,-1]}"; do
        described+=("${${line%%$tab*}//:/\\:}:${line#*$tab}")
      done
      _describe -V sluicectl described
      ;;
  esac
}
if [[ $funcstack[1] == _sluicectl ]]; then
  _sluicectl "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _sluicectl sluicectl
fi
)";

constexpr char kFish[] = R"(# sluicectl completion for fish:   sluicectl completion fish | source
function __sluicectl_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines ($words[1] __complete $words[2..] $word 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path $word
        case folders
            __fish_complete_directories $word
        case words
            test (count $lines) -gt 1 && printf '%s\n' $lines[2..]
    end
end
complete -c sluicectl -f -a '(__sluicectl_complete)'
)";

}  // namespace

void AddCompletionCommand(CLI::App& app, Action& action) {
  static const std::map<std::string, const char*> kScripts = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a script that makes a shell complete sluicectl");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&action, shell] {
    action = [shell] {
      std::cout << kScripts.at(*shell);
      return kOk;
    };
  });
}

}  // namespace sluice::client
