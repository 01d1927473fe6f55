#include "inspect/check_config.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/mistakes.h"
#include "config/missing.h"
#include "config/walk.h"
#include "data/chat/chat_input.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/token_input.h"
#include "io/file.h"
#include "layers/mesh_axes.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "runtime/mesh_devices.h"
#include "train/config/run_modules.h"
#include "train/config/trainer_config.h"
#include "train/evaluation/evaler.h"
#include "train/evaluation/evaluations.h"
#include "train/evaluation/task_evaler.h"
#include "train/run_memory.h"

namespace axle {
namespace {

// True if this part of the config is complete and in range, so that it can be built by itself.
bool is_sound(const Slot& part) { return missing(part).empty() && out_of_range(part).empty(); }

// Calls fn(config) for an input of texts or conversations.
template <class Fn>
void with_texts(const Child<Input>& input, const Fn& fn) {
  if (const auto* text = input.get_if<TextInput>()) fn(*text);
  if (const auto* chat = input.get_if<ChatInput>()) fn(*chat);
  if (const auto* tokens = input.get_if<TokenInput>()) fn(*tokens);
  if (const auto* pairs = input.get_if<PreferenceInput>()) fn(*pairs);
}

// Replaces an input of texts by a synthetic one with batches of the same shapes, which ends if the
// other ends. It reads no data.
void stand_in(Child<Input>& input) {
  const Child<Input> texts = input;
  with_texts(texts, [&](const auto& text) {
    std::optional<int64_t> num_batches;
    if (text.epochs) num_batches = *text.epochs;
    make_synthetic(input, num_batches);
  });
}

class Check {
 public:
  Check(const Trainer::Config& config, std::optional<int64_t> num_devices,
        const std::optional<HostMemory>& host, std::vector<std::string>* warnings)
      : config_(config), num_devices_(num_devices), host_(host), warnings_(warnings) {}

  Mistakes run() {
    attempt([&] { check_recipe(config_); });
    const bool inputs_are_good = check_inputs();
    const bool mesh_is_good = attempt([&] { mesh_ = infer_mesh(config_.mesh, devices()); }) &&
                              attempt([&] { check_axes(); });
    if (!num_devices_) attempt([&] { check_device_count("mesh", num_mesh_devices(config_.mesh)); });
    if (is_sound(config_.model)) attempt([&] { build_model(); });
    const bool tokenizers_fit = model_ && check_tokenizers();
    const bool learner_is_good = is_sound(config_.learner) && attempt([&] { build_learner(); });
    const bool rest_is_good = is_sound(config_);
    if (inputs_are_good && tokenizers_fit && rest_is_good) check_data();
    check_tasks(tokenizers_fit && rest_is_good);
    const bool parts_are_good = model_ && learner_is_good && rest_is_good;
    if (inputs_are_good && tokenizers_fit && parts_are_good && mesh_is_good) {
      check_programs();
    } else if (parts_are_good) {
      check_state_memory();
    }
    return std::move(mistakes_);
  }

 private:
  // Runs fn(). Records a mistake of the user and returns false if there is one.
  template <class F>
  bool attempt(F fn) {
    return mistakes_.passes(fn);
  }

  int64_t devices() const {
    if (num_devices_) return *num_devices_;
    int64_t out = 1;
    for (const MeshAxis& axis : config_.mesh.axes) {
      if (axis.size > 0 && __builtin_mul_overflow(out, axis.size, &out)) return 1;
    }
    return out;
  }

  // Throws for mesh axes that no parameter can be sharded over, for any model: names that are
  // neither known axes nor in a partition of the config.
  void check_axes() const {
    ProgramValue value{.name = "mesh", .type = {}, .sharding = {std::vector<DimAxes>(1)}};
    value.sharding.dims[0].assign(kMeshAxes.begin(), kMeshAxes.end());
    std::vector<ProgramValue> values = {value};
    walk(config_, [&](const std::string& path, const Slot& outer) {
      const Slot slot = unwrap(outer);
      if (*slot.ops->type != typeid(PartitionSpec)) return;
      value.name = path;
      value.sharding = *static_cast<const PartitionSpec*>(slot.at);
      values.push_back(value);
    });
    check_mesh(mesh_, values);
  }

  // Calls fn(path, input) for the training input and the inputs of all evalers.
  template <class F>
  void for_each_input(F fn) const {
    fn("input", config_.input);
    for (const auto& [name, evaler] : config_.evalers)
      fn(fmt::format("evalers.{}.input", name), evaler.input);
  }

  // Checks that the paths of texts exist; check_data() reads the texts.
  bool check_inputs() {
    bool good = true;
    for_each_input([&](const std::string& path, const Child<Input>& input) {
      if (!input) return;
      Child<Input> read = input;
      for (const std::string& one : text_paths(read)) {
        if (is_token_file(one)) continue;
        good &= attempt([&] {
          if (const std::string none = no_texts_at(one); !none.empty()) {
            throw DataError(fmt::format("{}.source.path: {}: expected a file or folder, got {}",
                                        path, one, none));
          }
        });
      }
    });
    return good;
  }

  bool check_tokenizers() {
    bool good = true;
    for_each_input([&](const std::string& path, const Child<Input>& input) {
      with_texts(input, [&](const auto& text) {
        if (is_sound(text.tokenizer))
          good &= attempt([&] { check_vocabulary(text.tokenizer, path); });
      });
    });
    return good;
  }

  void check_vocabulary(const Child<Tokenizer>& config, const std::string& path) const {
    const auto tokenizer = config.build({}, Scope{.path = path + ".tokenizer"});
    axle::check_vocabulary(*tokenizer, model_->vocab_size(), path);
  }

  // Opens the inputs as a run does: their texts are read and encoded.
  void check_data() {
    Trainer::Config complete = config_;
    if (!attempt([&] { complete_evaler_inputs(complete); })) return;
    const Input::Dims dims{.vocab_size = model_->vocab_size(),
                           .seed = static_cast<uint64_t>(config_.seed)};
    const auto open = [&](const std::string& path, const Child<Input>& input) {
      attempt([&] {
        const Skipped skipped = input.build(dims, Scope{.path = path})->facts().skipped;
        if (skipped.count > 0 && warnings_)
          warnings_->push_back(fmt::format("WARNING: {}: {}", path, skipped_text(skipped)));
      });
    };
    open("input", complete.input);
    for (const auto& [name, evaler] : complete.evalers)
      open(fmt::format("evalers.{}.input", name), evaler.input);
  }

  // Makes the questions of all tasks; `for_model`: as a run does, in the tokens of its model.
  void check_tasks(bool for_model) {
    for (const auto& evaler : config_.task_evalers) {
      attempt([&] {
        if (for_model) {
          tasks_.emplace(evaler.first, set_up_tasks(evaler.second, evaler.first, evaluated_run()));
        } else {
          read_tasks(evaler.second, evaler.first);
        }
      });
    }
  }

  EvaluatedRun evaluated_run() const {
    EvaluatedRun out{.input = config_.input,
                     .learner = config_.learner,
                     .spec = {.model = *model_,
                              .batch = {},
                              .batch_partition = config_.batch_partition,
                              .compute_dtype = config_.compute_dtype}};
    for (const auto& [name, evaler] : config_.evalers) out.evalers.push_back(name);
    return out;
  }

  // A run on the host's own devices, which is the default, holds its state there.
  void check_state_memory() {
    if (!host_) return;
    attempt([&] { axle::check_state_memory(train_state(*model_, *learner_), "cpu", *host_); });
  }

  void build_model() { model_ = config_.model.build({}, Scope{.path = "model"}); }
  void build_learner() {
    // If the run's length is itself a mistake, schedules that depend on it get a valid length.
    constexpr int64_t kLong = int64_t{1} << 30;
    const auto& steps = config_.max_steps;
    const bool is_known = steps.has_value() && *steps > 0;
    learner_ = config_.learner.build(
        {.params = model_ ? model_->param_specs() : declared_params(config_.model),
         .run_steps = is_known ? int64_t{*steps} : kLong},
        Scope{.path = "learner"});
  }

  void check_programs() {
    Trainer::Config without_data = config_;
    stand_in(without_data.input);
    for (auto& [name, evaler] : without_data.evalers) stand_in(evaler.input);
    const RunModules modules(without_data);
    const ProgramSpec programs = modules.program_spec(mesh_, modules.make_input()->element_spec());
    attempt([&] { init_program(programs); });
    Program step;
    std::vector<Evaler> evalers;
    bool good = attempt([&] { step = step_program(programs); });
    // Of a model that can't train, they would say the same again.
    if (good) trace_all_tasks();
    const EvaluatedRun run = modules.evaluated_on(mesh_);
    for (const auto& evaler : without_data.evalers)
      good &= attempt([&] { evalers.emplace_back(evaler.second, evaler.first, run); });
    if (!good) return check_state_memory();
    if (!host_) return;
    std::vector<TracedProgram> traced = {{"the step", &step}};
    for (const Evaler& evaler : evalers)
      traced.push_back({"evalers." + evaler.name(), &evaler.program()});
    attempt([&] { RunMemory(without_data, programs, "cpu", *host_).check(traced); });
  }

  void trace_all_tasks() {
    for (const auto& tasks : tasks_)
      attempt([&] { trace_tasks(tasks.second, tasks.first, *model_, mesh_); });
  }

  const Trainer::Config& config_;
  std::optional<int64_t> num_devices_;
  const std::optional<HostMemory>& host_;
  std::vector<std::string>* warnings_;
  Mistakes mistakes_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Learner> learner_;
  std::map<std::string, TaskSetup> tasks_;  // of evalers without a mistake so far
  Mesh mesh_;
};

}  // namespace

Mistakes config_problems(const Trainer::Config& config, std::optional<int64_t> num_devices,
                         const std::optional<HostMemory>& host,
                         std::vector<std::string>* warnings) {
  return Check(config, num_devices, host, warnings).run();
}

}  // namespace axle
