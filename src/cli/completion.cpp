#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/arguments/path_options.h"
#include "config/registry.h"
#include "fetch/fetch_plugin.h"
#include "pjrt/plugin/plugin_policy.h"
#include "recipes/recipe.h"
#include "train/trainer.h"

namespace axle::cli {
namespace {

// The kind of value that follows a flag.
enum class Value { kNone, kPath, kText, kBackend, kAssignment };

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
};

Value value_of(const CLI::Option& option, std::string_view name) {
  if (option.get_items_expected_max() == 0) return Value::kNone;
  if (name == "backend") return Value::kBackend;
  if (name == "set") return Value::kAssignment;
  return is_path(option) ? Value::kPath : Value::kText;
}

std::vector<std::string> supported_shells() { return {"bash", "zsh", "fish"}; }

std::vector<std::string> class_names() {
  std::set<std::string> names;
  for (const RoleListing& role : list_roles()) {
    for (const ConfigType* type : role.classes) names.emplace(type->name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> known_arguments(const CLI::Option& positional) {
  const std::string name = positional.get_name(true);
  if (name == "RECIPE" || name == "A" || name == "B") return recipe_names();
  if (name == "PLATFORM") return fetched_platforms();
  if (name == "NAME") {
    std::vector<std::string> out = recipe_names();
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
    if (option->get_lnames().empty() && command.arguments.empty())
      command.arguments = known_arguments(*option);
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
// '='.
std::string bash_script(const std::vector<Command>& commands) {
  std::string known, words;
  std::set<std::string> with_value;
  for (const Command& c : commands) {
    if (!c.words.empty()) {
      const std::vector<std::string> parent(c.words.begin(), c.words.end() - 1);
      known +=
          fmt::format("{}\"{} {}\"", known.empty() ? "" : " | ", join(parent, " "), c.words.back());
    }
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", join(c.words, " "), candidates(c));
    for (const Flag& flag : c.flags) {
      if (flag.value != Value::kNone && flag.value != Value::kBackend)
        with_value.insert("--" + flag.name);
    }
  }
  return fmt::format(
      R"(_axle() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command="" words="" assigned="" prefix="" i
  if [[ $cur == ?*=* ]]; then
    assigned=${{cur%=*}} prefix="${{cur%=*}}=" cur=${{cur##*=}}
  elif [[ $cur == "=" ]]; then
    assigned=$before cur=""
  elif [[ $before == "=" ]]; then
    assigned=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command" in
{}  esac
  case "${{assigned:-$before}}" in
    --backend) words="{}" ;;
    {}) words="" ;;
    *) [[ -z $assigned ]] || words="{}" ;;
  esac
  COMPREPLY=($(compgen -P "$prefix" -W "$words" -- "$cur"))
}}
complete -o default -F _axle axle
)",
      known, words, backends(),
      join(std::vector<std::string>(with_value.begin(), with_value.end()), " | "),
      join(class_names(), " "));
}

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
    case Value::kAssignment:
      break;
  }
  return " -x -a '(__axle_classes)'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string out = fmt::format(R"(function __axle_classes
  set -l path (string match -r '^.*=' -- (commandline -ct))
  and printf '%s\n' $path{{{}}}
end
)",
                                join(class_names(), ","));
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
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh")
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw ConfigError(fmt::format("SHELL: expected one of {}, got '{}'{}",
                                join(supported_shells(), ", "), shell,
                                suggest(shell, supported_shells())));
}

}  // namespace axle::cli
