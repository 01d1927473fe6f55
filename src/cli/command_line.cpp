#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/text/text.h"
#include "base/version.h"
#include "cli/arguments/options.h"
#include "cli/output.h"

namespace axle::cli {
namespace {

struct Row {
  ExitCode code;
  const char* meaning;
};

constexpr Row kRows[] = {
    {ExitCode::kOk, "done"},
    {ExitCode::kInternal, "a bug of Axle"},
    {ExitCode::kUser,
     "a mistake in the command, the config or the recipe; a retry gives the same result"},
    {ExitCode::kData,
     "input data missing, unreadable or malformed; or data build found others where it writes"},
    {ExitCode::kStorage,
     "a disk or object store failed, a checkpoint is damaged, or another process holds the folder"},
    {ExitCode::kDevice, "a plugin or device is missing or failed"},
    {ExitCode::kDoesNotFit, "the program needs more memory than the machine has"},
    {ExitCode::kDoesNotCompile, "the device's compiler refused the program"},
    {ExitCode::kRerunElsewhere, "reserved for launchers: rerun elsewhere"},
    {ExitCode::kValidationFailed,
     "numbers of a step or of a model were not finite, or results differ from their reference"},
    {ExitCode::kHang, "reserved for launchers: hang"},
    {ExitCode::kTerminatedAndSaved,
     "SIGTERM, SIGHUP, SIGUSR1 or SIGXCPU: stopped; all steps are saved"},
    {ExitCode::kInterruptedAndSaved, "Ctrl-C: stopped; all steps are saved"},
};

}  // namespace

std::string exit_code_text() {
  std::string out = "Exit codes:\n";
  for (const Row& row : kRows)
    out += fmt::format("  {:>3}  {}\n", static_cast<int>(row.code), row.meaning);
  return out;
}

namespace {

constexpr size_t kHelpColumn = 26;

std::vector<std::string> verbs_below(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* sub : app.get_subcommands({})) out.push_back(sub->get_name());
  return out;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

// Returns what a verb takes besides flags: "1 argument (RECIPE)".
std::string arguments_text(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    names.push_back(option->get_name(true));
  if (names.empty()) return "no argument";
  return fmt::format("{} argument{} ({})", names.size(), names.size() == 1 ? "" : "s",
                     join(names, ", "));
}

// Returns the words of a command: "axle config show".
std::string command_words(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent ? command_words(*parent) + " " + app.get_name() : app.get_name();
}

// Returns what CLI11 found: a flag without its value, or with one that it does not take, in the
// words of our own messages.
std::string problem_text(const CLI::ParseError& error) {
  const std::string text = error.what();
  constexpr std::string_view kNoValue = " was given a disallowed flag override";
  if (text.ends_with(kNoValue)) {
    return fmt::format("--{}: expected no value, got one",
                       text.substr(0, text.size() - kNoValue.size()));
  }
  constexpr std::string_view kFlag = ": 1 required ", kEnd = " missing";
  const size_t at = text.find(kFlag);
  if (at == text.npos || !text.ends_with(kEnd)) return text;
  const size_t begin = at + kFlag.size();
  return fmt::format("{}: expected {}, got nothing", text.substr(0, at),
                     text.substr(begin, text.size() - kEnd.size() - begin));
}

[[noreturn]] void fail_unexpected(const CLI::App& app, const std::string& argument) {
  const std::string command = command_words(app);
  const auto verbs = verbs_below(app);
  if (argument.starts_with('-')) {
    const std::string flag = argument.substr(0, argument.find('='));
    throw ConfigError(fmt::format("{}: no such flag: {}{}; see {} --help", command, flag,
                                  suggest(flag, flags_of(app)), command));
  }
  if (!verbs.empty()) {
    throw ConfigError(fmt::format("{}: no such verb: {}{} (verbs: {})", command, argument,
                                  suggest(argument, verbs), join(verbs, ", ")));
  }
  throw ConfigError(fmt::format("{}: expected {}, got one too many: '{}'; see {} --help", command,
                                arguments_text(app), argument, command));
}

// Returns the arguments as CLI11 takes them, the last one first. "--flag=" becomes "--flag" and "":
// CLI11 takes the next argument as the flag's value.
std::vector<std::string> parse_order(int argc, const char* const* argv) {
  std::vector<std::string> out;
  bool may_be_flag = true;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--") may_be_flag = false;
    const bool has_no_value =
        may_be_flag && argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    if (has_no_value) argument.pop_back();
    out.push_back(std::move(argument));
    if (has_no_value) out.emplace_back();
  }
  std::ranges::reverse(out);
  return out;
}

// Refuses a flag of which only the last value would count. Flags without a value may be repeated.
void refuse_repeated(const CLI::App& app) {
  const std::vector<CLI::Option*>& given = app.parse_order();
  for (const CLI::Option* option : given) {
    const bool takes_all = option->get_expected_max() != 1 ||
                           option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    const auto times = std::ranges::count(given, option);
    if (takes_all || times == 1) continue;
    throw ConfigError(fmt::format("{}: expected {} once, got it {} times; keep one of them",
                                  command_words(app), option->get_name(), times));
  }
}

}  // namespace

CommandLine::CommandLine(Output& out)
    : out_(out), app_("Axle: trains large models and generates with them", "axle") {
  app_.set_version_flag("--version", std::string("axle ") + std::string(version()),
                        "Print the version");
  app_.set_help_flag("-h,--help", "Print this help");
  app_.get_formatter()->column_width(kHelpColumn);
  app_.option_defaults()  // inherited by the verbs
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->disable_flag_override();
  app_.require_subcommand(0, 1);
  app_.allow_extras();  // check_extras says more than CLI11 does
  app_.footer("axle <verb> --help lists the flags of a verb.\n\n" + exit_code_text());
  for (const AnyVerb& verb : verbs()) {
    CLI::App* app = &app_;
    for (const std::string_view word : split(verb.name, ' ')) app = add(std::string(word), *app);
    app->description(std::string(verb.help));
    runs_[app] = verb.add(*app, out);
    refuse_bad_paths(*app);
  }
  for (CLI::App* app : app_.get_subcommands({})) {
    if (!runs_.contains(app)) app->description("Verbs: " + join(verbs_below(*app), ", "));
  }
}

CLI::App* CommandLine::add(const std::string& name, CLI::App& parent) {
  for (CLI::App* sub : parent.get_subcommands({})) {
    if (sub->get_name() == name) return sub;
  }
  CLI::App* app = parent.add_subcommand(name);
  app->footer("");
  app->require_subcommand(0, 1);
  app->allow_extras();
  return app;
}

const CLI::App& CommandLine::parsed() const {
  const CLI::App* app = &app_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

void CommandLine::check_extras() const {
  for (const CLI::App* app = &parsed(); app; app = app->get_parent()) {
    auto extras = app->remaining();
    std::erase(extras, "--");  // ends the flags
    if (!extras.empty()) fail_unexpected(*app, extras.front());
  }
}

ExitCode CommandLine::run(int argc, const char* const* argv) {
  try {
    app_.parse(parse_order(argc, argv));
  } catch (const CLI::Success& asked) {  // help or version
    const CLI::App& app = parsed();
    for (const std::string& argument : app.remaining()) {
      if (!verbs_below(app).empty() && !argument.starts_with('-')) fail_unexpected(app, argument);
    }
    std::ostringstream text;
    app_.exit(asked, text, text);
    out_.write(text.str());
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    check_extras();
    throw ConfigError(fmt::format("{}: {}; see {} --help", command_words(parsed()),
                                  problem_text(error), command_words(parsed())));
  }
  check_extras();
  refuse_repeated(parsed());
  const auto verb = runs_.find(&parsed());
  if (verb == runs_.end()) {
    if (&parsed() != &app_) {
      throw ConfigError(fmt::format("{}: expected a verb (verbs: {}), got none",
                                    command_words(parsed()), join(verbs_below(parsed()), ", ")));
    }
    out_.write(app_.help());
    return ExitCode::kOk;
  }
  return verb->second();
}

}  // namespace axle::cli
