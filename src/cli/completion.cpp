#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/arguments/options.h"
#include "config/registry.h"
#include "fetch/fetch_plugin.h"
#include "pjrt/plugin/plugin_policy.h"
#include "recipes/recipe.h"
#include "train/config/trainer_config.h"

namespace axle::cli {
namespace {

// The kind of value that follows a flag.
enum class Value { kNone, kPath, kText, kBackend, kAsked };  // kAsked: the program is asked

struct Flag {
  std::string name;  // without dashes
  std::string help;
  Value value = Value::kNone;
};

// One verb, or a word that leads to verbs.
struct Command {
  std::vector<std::string> words;  // "config", "show"; empty for the program itself
  std::vector<const CLI::App*> below;
  std::vector<Flag> flags;
  std::vector<std::string> arguments;  // known positional arguments: recipes, shells, ...
  bool takes_paths = false;            // the positional arguments are others, such as folders
};

Value value_of(const CLI::Option& option, std::string_view name) {
  if (option.get_items_expected_max() == 0) return Value::kNone;
  if (name == "backend") return Value::kBackend;
  constexpr std::string_view kAsked[] = {"set", "modify", "on", "schedule", "dtype"};
  if (std::ranges::count(kAsked, name) > 0) return Value::kAsked;
  return is_path(option) ? Value::kPath : Value::kText;
}

std::vector<std::string> supported_shells() { return {"bash", "zsh", "fish"}; }

std::vector<std::string> class_names() {
  std::set<std::string> names;
  for (const Listing& role : list_roles()) {
    for (const ConfigType* type : role.classes) names.emplace(type->name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> known_arguments(const CLI::Option& positional) {
  const std::string name = positional.get_name(true);
  if (name == "RECIPE" || name == "A" || name == "B") return product_recipe_names();
  if (name == "PLATFORM") return fetched_platforms();
  if (name == "NAME") {
    std::vector<std::string> out = product_recipe_names();
    std::ranges::copy(class_names(), std::back_inserter(out));
    return out;
  }
  return name == "SHELL" ? supported_shells() : std::vector<std::string>();
}

void collect(const CLI::App& app, const std::vector<std::string>& words,
             std::vector<Command>& out) {
  Command command{.words = words, .below = {}, .flags = {}, .arguments = {}};
  for (const CLI::App* sub : app.get_subcommands({})) command.below.push_back(sub);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      command.flags.push_back({name, option->get_description(), value_of(*option, name)});
    if (!option->get_lnames().empty() || !command.arguments.empty()) continue;
    command.arguments = known_arguments(*option);
    command.takes_paths = command.arguments.empty();
  }
  out.push_back(command);
  for (const CLI::App* sub : command.below) {
    std::vector<std::string> longer = words;
    longer.push_back(sub->get_name());
    collect(*sub, longer, out);
  }
}

std::vector<std::string> names_below(const Command& command) {
  std::vector<std::string> out;
  for (const CLI::App* sub : command.below) out.push_back(sub->get_name());
  return out;
}

std::string backends() {
  std::string out = "interpreter";
  for (const PluginPolicy& row : plugin_policies()) out += " " + row.platform;
  return out;
}

std::string candidates(const Command& command) {
  std::vector<std::string> out = names_below(command);
  for (const Flag& flag : command.flags) out.push_back("--" + flag.name);
  std::ranges::copy(command.arguments, std::back_inserter(out));
  return join(out, " ");
}

// Also runs in zsh. A word in zsh holds all of "--flag=value" or "path=Class"; bash splits it at
// '=' and ':', and replaces only what stands behind.
std::string bash_script(const std::vector<Command>& commands) {
  std::string known, words;
  std::set<std::string> with_value;
  for (const Command& c : commands) {
    if (!c.words.empty()) {
      const std::vector<std::string> parent(c.words.begin(), c.words.end() - 1);
      known +=
          fmt::format("{}\"{} {}\"", known.empty() ? "" : " | ", join(parent, " "), c.words.back());
    }
    // Without words, the shell completes files.
    words += fmt::format("    \"{}\") {}words=\"{}\" ;;\n", join(c.words, " "),
                         c.takes_paths ? "[[ -z $whole ]] || " : "", candidates(c));
    for (const Flag& flag : c.flags) {
      if (flag.value == Value::kPath || flag.value == Value::kText)
        with_value.insert("--" + flag.name);
    }
  }
  return fmt::format(
      R"sh(_axle() {{
  local word whole="" flag="" command="" words="" glued="" i
  local -a typed
  typed=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    glued=""
    if [[ -n $BASH_VERSION && $i -gt 1 ]]; then
      case "$word" in "="* | ":"*) glued=1 ;; esac
      case "$whole" in *"=" | *":") glued=1 ;; esac
    fi
    if [[ -n $glued ]]; then
      whole+=$word
    else
      [[ $i -eq 1 ]] || typed+=("$whole")
      flag=$whole whole=$word
    fi
  done
  typed+=("$whole")
  _axle_typed=$whole
  if [[ $whole == --?*=* ]]; then flag=${{whole%%=*}}; fi
  for word in "${{typed[@]}}"; do
    case "$command $word" in
      {}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "$command" in
{}  esac
  COMPREPLY=()
  case "$flag" in
    --set | --modify | --on | --schedule | --dtype)
      while IFS= read -r word; do
        [[ -z $word ]] || COMPREPLY+=("$word")
      done < <("${{COMP_WORDS[0]}}" completion bash -- "${{typed[@]}}" 2> /dev/null)
      ;;
    *)
      local ahead=""
      if [[ $whole == --?*=* ]]; then ahead=${{whole%%=*}}= words=""; fi
      case "$flag" in
        --backend) words="{}" ;;
        {}) words="" ;;
      esac
      whole=${{whole#$ahead}}
      COMPREPLY=($(compgen -P "$ahead" -W "$words" -- "$whole"))
      ;;
  esac
}}
)sh",
      known, words, backends(),
      join(std::vector<std::string>(with_value.begin(), with_value.end()), " | "));
}

// bash replaces what stands behind the last '=' or ':' of a word.
constexpr std::string_view kBashEnd = R"sh(_axle_bash() {
  local _axle_typed=""
  _axle
  local before=${_axle_typed%"${_axle_typed##*[=:]}"}
  if [[ -n $before ]]; then COMPREPLY=("${COMPREPLY[@]#"$before"}"); fi
  if [[ ${COMPREPLY[0]} == *[.=] ]]; then compopt -o nospace 2> /dev/null; fi
}
complete -o default -F _axle_bash axle
)sh";

// In a file called _axle in a folder of $fpath, zsh runs the script at the first completion.
constexpr std::string_view kZshBegin = R"sh(#compdef axle
autoload -U +X bashcompinit && bashcompinit
)sh";
constexpr std::string_view kZshEnd = R"sh(_axle_zsh() {
  local flag=${words[CURRENT-1]}
  case ${words[CURRENT]} in
    --?*=*) flag=${words[CURRENT]%%=*} ;;
  esac
  case $flag in
    --set | --modify | --on)
      local -a found
      found=(${(f)"$("${(Q)words[1]}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2> /dev/null)"})
      compadd -Q -S '' -- ${(M)found:#*[.=]}
      compadd -Q -- ${found:#*[.=]}
      ;;
    *) _bash_complete -o default -F _axle ;;
  esac
}
compdef _axle_zsh axle
if [[ ${funcstack[1]} == _axle ]]; then _axle_zsh; fi
)sh";

std::string quoted(std::string text) {
  for (size_t i = 0; (i = text.find_first_of("'\\", i)) != std::string::npos; i += 2)
    text.insert(i, "\\");
  return "'" + text + "'";
}

// Returns a condition that is true if the words of the command have been typed, and no further
// verb.
std::string fish_condition(const Command& command) {
  if (command.words.empty()) return "__fish_use_subcommand";
  std::vector<std::string> parts;
  for (const std::string& word : command.words)
    parts.push_back("__fish_seen_subcommand_from " + word);
  if (!command.below.empty())
    parts.push_back("not __fish_seen_subcommand_from " + join(names_below(command), " "));
  return join(parts, "; and ");
}

std::string fish_value(Value value) {
  switch (value) {
    case Value::kNone:
      return "";
    case Value::kPath:
      return " -r";
    case Value::kText:
      return " -x";
    case Value::kBackend:
      return fmt::format(" -x -a '{}'", backends());
    case Value::kAsked:
      break;
  }
  return " -x -a '(__axle_values)'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string out = R"(function __axle_values
  set -l words (commandline -opc) (commandline -ct)
  $words[1] completion fish -- $words[2..-1] 2> /dev/null | string replace -r '^--\w+=' ''
end
)";
  for (const Command& command : commands) {
    const std::string where = fmt::format("complete -c axle -n '{}'", fish_condition(command));
    for (const CLI::App* sub : command.below) {
      out += fmt::format("{} -f -a {} -d {}\n", where, sub->get_name(),
                         quoted(sub->get_description()));
    }
    for (const Flag& flag : command.flags) {
      out += fmt::format("{} -l {}{} -d {}\n", where, flag.name, fish_value(flag.value),
                         quoted(flag.help));
    }
    if (!command.arguments.empty())
      out += fmt::format("{} -f -a '{}'\n", where, join(command.arguments, " "));
  }
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell, const CLI::App& program) {
  std::vector<Command> commands;
  collect(program, {}, commands);
  if (shell == "bash") return fmt::format("{}{}", bash_script(commands), kBashEnd);
  if (shell == "zsh") return fmt::format("{}{}{}", kZshBegin, bash_script(commands), kZshEnd);
  if (shell == "fish") return fish_script(commands);
  throw ConfigError(fmt::format("SHELL: expected one of {}, got '{}'{}",
                                join(supported_shells(), ", "), shell,
                                suggest(shell, supported_shells())));
}

}  // namespace axle::cli
