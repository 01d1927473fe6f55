#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "config/registry.h"
#include "runtime/plugin_policy.h"
#include "train/trainer.h"

namespace axle::cli {
namespace {

// One verb, or a word that leads to verbs.
struct Command {
  std::string words;  // "config show"; empty for the program
  std::vector<const CLI::App*> below;
  std::vector<const CLI::Option*> flags;
  bool takes_recipe = false;
};

void collect(const CLI::App& app, const std::string& words, std::vector<Command>& out) {
  Command command{.words = words, .below = {}, .flags = {}};
  for (const CLI::App* sub : app.get_subcommands({})) command.below.push_back(sub);
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty()) command.flags.push_back(option);
    if (option->get_name(true) == "RECIPE") command.takes_recipe = true;
  }
  out.push_back(command);
  for (const CLI::App* sub : command.below)
    collect(*sub, words.empty() ? sub->get_name() : words + " " + sub->get_name(), out);
}

std::string class_names() {
  std::set<std::string> names;
  for (const RoleListing& role : list_roles()) {
    for (const ConfigType* type : role.classes) names.emplace(type->name);
  }
  return join(std::vector<std::string>(names.begin(), names.end()), " ");
}

std::string backends() {
  std::string out = "interpreter";
  for (const PluginPolicy& row : plugin_policies()) out += " " + row.platform;
  return out;
}

std::string candidates(const Command& command) {
  std::vector<std::string> out;
  for (const CLI::App* sub : command.below) out.push_back(sub->get_name());
  for (const CLI::Option* flag : command.flags) {
    for (const std::string& name : flag->get_lnames()) out.push_back("--" + name);
  }
  if (command.takes_recipe) std::ranges::copy(recipe_names(), std::back_inserter(out));
  return join(out, " ");
}

std::string bash_script(const std::vector<Command>& commands) {
  std::string known, words;
  for (const Command& command : commands) {
    const size_t last = command.words.rfind(' ');
    const std::string parent = last == std::string::npos ? "" : command.words.substr(0, last);
    if (!command.words.empty())
      known += fmt::format("{}\"{} {}\"", known.empty() ? "" : " | ", parent,
                           command.words.substr(last + 1));
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", command.words, candidates(command));
  }
  return fmt::format(R"(_axle() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command" in
{}  esac
  case "$prev" in
    --backend) words="{}" ;;
    "=") words="{}" ;;
    --config | --data | --dir | --from | --inputs | --params | --output | --rename | --compile-cache) words="" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _axle axle
)",
                     known, words, backends(), class_names());
}

std::string quoted(std::string text) {
  for (size_t i = 0; (i = text.find_first_of("'\\", i)) != std::string::npos; i += 2)
    text.insert(i, "\\");
  return "'" + text + "'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string out;
  for (const Command& command : commands) {
    std::string condition = "__fish_use_subcommand";
    if (!command.words.empty()) {
      condition.clear();
      for (const std::string_view word : split(command.words, ' ')) {
        condition += fmt::format("{}__fish_seen_subcommand_from {}",
                                 condition.empty() ? "" : "; and ", word);
      }
    }
    for (const CLI::App* sub : command.below) {
      out += fmt::format("complete -c axle -f -n '{}' -a {} -d {}\n", condition, sub->get_name(),
                         quoted(sub->get_description()));
    }
    for (const CLI::Option* flag : command.flags) {
      for (const std::string& name : flag->get_lnames()) {
        const bool takes_value = flag->get_items_expected_max() > 0;
        std::string values = name == "backend" ? fmt::format(" -x -a '{}'", backends())
                             : takes_value     ? " -r"
                                               : "";
        out += fmt::format("complete -c axle -n '{}' -l {}{} -d {}\n", condition, name, values,
                           quoted(flag->get_description()));
      }
    }
    if (command.takes_recipe)
      out += fmt::format("complete -c axle -f -n '{}' -a '{}'\n", condition,
                         join(recipe_names(), " "));
  }
  return out;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(std::string_view shell, const CLI::App& program) {
  std::vector<Command> commands;
  collect(program, "", commands);
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh")
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw ConfigError(fmt::format("SHELL: expected one of {}, got '{}'{}",
                                join(completion_shells(), ", "), shell,
                                suggest(shell, completion_shells())));
}

}  // namespace axle::cli
