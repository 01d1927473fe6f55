#include "cli/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/mistakes.h"
#include "checkpoint/folder.h"
#include "config/registry.h"
#include "config/walk.h"
#include "inspect/eval_run.h"
#include "io/file.h"
#include "ir/dtype.h"
#include "modifiers/modifier.h"
#include "recipes/recipe.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/recipe_file.h"
#include "recipes/resolve/resolve.h"
#include "targets/target.h"

namespace axle::cli {
namespace {

// One flag of a command line, and its value.
struct GivenFlag {
  std::string name;  // "--set"
  std::string value;
};

// The flags that this file knows, each with its value, and the recipe.
struct GivenWords {
  std::vector<GivenFlag> flags;
  std::string recipe;
};

bool is_known(std::string_view flag) {
  return flag == "--set" || flag == "--modify" || flag == "--on" || flag == "--config" ||
         flag == "--mesh" || flag == "--from";
}

GivenWords read_words(const std::vector<std::string>& words) {
  GivenWords out;
  const std::vector<std::string> recipes = recipe_names();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equals = word.find('=');
    if (is_known(word) && i + 1 < words.size()) {
      out.flags.push_back({word, words[++i]});
    } else if (equals != word.npos && is_known(word.substr(0, equals))) {
      out.flags.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else if (std::ranges::count(recipes, word) > 0) {
      out.recipe = word;
    }
  }
  return out;
}

// Calls `read`, and does without what cannot be read.
void try_to(const std::function<void()>& read) {
  try {
    read();
  } catch (const std::exception&) {
    // Completion shows no errors: the command itself will.
  }
}

// The config of the flags so far; that of no recipe has the fields of every trainer.
Trainer::Config config_of(const GivenWords& given) {
  ResolveRequest request{.recipe = given.recipe, .machine = ""};
  for (const GivenFlag& flag : given.flags) {
    try_to([&] {
      if (flag.name == "--on") request.machine = parse_target(flag.value).machine();
      // Only a file can be read twice; the command itself still needs what a pipe holds.
      if (flag.name == "--config" && std::filesystem::is_regular_file(flag.value))
        request.files.push_back(read_recipe_file(flag.value));
      // The run whose model is evaluated.
      if (flag.name == "--from")
        request.files.push_back(read_recipe_file(config_file_of(flag.value)));
      if (flag.name == "--modify") request.edits.push_back(UseModifier{flag.value});
      if (flag.name == "--mesh") request.edits.push_back(SetField{"mesh", flag.value});
      const size_t equals = flag.value.find('=');
      if (flag.name == "--set" && equals != flag.value.npos) {
        request.edits.push_back(
            SetField{flag.value.substr(0, equals), flag.value.substr(equals + 1)});
      }
    });
  }
  Trainer::Config out;
  try_to([&] {
    if (request.machine.empty()) request.machine = host_machine();
    Mistakes mistakes;
    out = resolve_config(request, mistakes).config;
  });
  return out;
}

// ['key'] as ".key", which needs no quotes in a shell.
std::string path_below(const std::string& parent, const Slot& slot) {
  std::string name = slot.name;
  if (name.starts_with("['") && name.find_first_of(" .[\"\\$*?") == name.npos)
    name = name.substr(2, name.size() - 4);
  return join_config_path(parent, name);
}

std::vector<std::string> paths_for(const Trainer::Config& config, const std::string& typed) {
  const size_t dot = typed.rfind('.');
  const std::string parent = dot == typed.npos ? "" : typed.substr(0, dot);
  std::vector<std::string> out;
  try_to([&] {
    const Slot root(config);
    const Slot above = parent.empty() ? root : find_slot(root, parent);
    for (const Slot& slot : children_of(above)) {
      const std::string path = path_below(parent, slot);
      out.push_back(path + "=");
      const bool has_more = !children_of(slot).empty();
      const FieldKind kind = unwrap(slot).ops->kind;
      if (has_more && kind != FieldKind::kList) out.push_back(path + ".");
      if (has_more && kind == FieldKind::kList) {
        for (const Slot& element : children_of(slot)) {
          out.push_back(path_below(path, element) + "=");
          if (!children_of(element).empty()) out.push_back(path_below(path, element) + ".");
        }
      }
    }
  });
  return out;
}

std::vector<std::string> dtype_names(bool to_compute_in) {
  std::vector<std::string> out;
  for (int i = 0; i <= static_cast<int>(DType::kC128); ++i) {
    std::string name = to_text(static_cast<DType>(i));
    try {
      FloatDType checked;
      if (to_compute_in) from_text(name, checked);
      out.push_back(std::move(name));
    } catch (const ConfigError&) {
    }
  }
  return out;
}

// The values that fit a field: classes and functions by their names; the value that it has.
std::vector<std::string> values_for(const Trainer::Config& config, const std::string& path) {
  std::vector<std::string> out;
  try_to([&] {
    Slot slot = find_slot(config, path);
    const TypeOps* ops = slot.ops;
    for (; ops->element && (ops->kind == FieldKind::kOptional || ops->kind == FieldKind::kRequired);
         ops = ops->element) {
      if (ops->kind == FieldKind::kOptional) out.push_back("none");
    }
    const auto add = [&](const std::vector<std::string>& names) {
      out.insert(out.end(), names.begin(), names.end());
    };
    if (ops->interface) {
      add(names_of(*ops->interface));
    } else if (ops->kind == FieldKind::kLeaf && ops->choices) {
      add(ops->choices());
    } else if (*ops->type == typeid(DType) || *ops->type == typeid(FloatDType)) {
      add(dtype_names(*ops->type == typeid(FloatDType)));
    } else if (ops->kind == FieldKind::kLeaf && ops->leaf == LeafKind::kBool) {
      add({"true", "false"});
    } else if (const Slot inside = unwrap(slot); inside.ops->text) {
      out.push_back(inside.ops->text(inside.at));
    }
  });
  return out;
}

// Machine types of every accelerator, of the sizes that there are or that are usual.
std::vector<std::string> target_names() {
  std::vector<std::string> out;
  for (const Accelerator& one : accelerators()) {
    const auto add = [&](std::vector<int64_t> shape) {
      out.push_back(Target{.accelerator = one, .shape = std::move(shape)}.machine());
    };
    if (one.kind() == "tpu") {
      for (const auto& shape : one.slice_shapes) add(shape);
      for (int64_t side = 8; side * side * side <= one.max_torus_devices; side *= 2)
        add({side, side, side});
      continue;
    }
    const int64_t of_host = std::max<int64_t>(one.devices_per_host, 1);
    for (int64_t count = 1; count <= 512; count *= 2) {
      if (one.kind() == "cpu")
        add({count});
      else
        add({std::max<int64_t>(count / of_host, 1), std::min(count, of_host)});
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> values_of_set(const std::vector<std::string>& before,
                                       const std::string& typed) {
  const Trainer::Config config = config_of(read_words(before));
  const size_t equals = typed.find('=');
  std::vector<std::string> out;
  if (equals == typed.npos) {
    out = paths_for(config, typed);
    if (!before.empty() && before[0] == "eval")
      std::erase_if(out, [](const std::string& path) { return !is_read_by_evaluation(path); });
    return out;
  }
  const std::string path = typed.substr(0, equals);
  for (const std::string& value : values_for(config, path)) out.push_back(path + "=" + value);
  return out;
}

}  // namespace

std::vector<std::string> completion_candidates(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  std::string typed = words.back(), head;  // `head`: "--set=" in the same word
  std::vector<std::string> before(words.begin(), words.end() - 1);
  std::string flag = before.empty() ? "" : before.back();
  for (const char* name : {"--set", "--modify", "--on", "--schedule", "--dtype"}) {
    if (!typed.starts_with(std::string(name) + "=")) continue;
    flag = name;
    head = flag + "=";
    typed.erase(0, head.size());
  }
  if (head.empty() && !before.empty()) before.pop_back();
  std::vector<std::string> out;
  try_to([&] {
    if (flag == "--set") out = values_of_set(before, typed);
    if (flag == "--modify") out = names_of(typeid(Modifier));
    if (flag == "--on") out = target_names();
    if (flag == "--schedule") out = {"keep", "stretch"};
    if (flag == "--dtype") out = {"bf16", "f32"};
  });
  std::erase_if(out, [&](const std::string& value) { return !value.starts_with(typed); });
  for (std::string& value : out) value.insert(0, head);
  return out;
}

}  // namespace axle::cli
