#include "world/numbers.h"

#include "infer/decode_programs.h"
#include "ir/eval.h"
#include "ir/op_rules.h"
#include "ops/random/random.h"
#include "train/program/programs.h"

using namespace axle;

namespace {

constexpr int64_t kRows = 2, kLength = 6;

// The parts of a run, and the programs made of them.
struct Parts {
  explicit Parts(const Experiment& experiment)
      : model(experiment.model.build({}, Scope{.path = "model"})),
        learner(
            experiment.learner.build({.params = model->param_specs()}, Scope{.path = "learner"})) {}
  ProgramSpec program_spec() const {
    const Type tokens{DType::kI32, {kRows, kLength}};
    return {.model = *model,
            .learner = learner.get(),
            .batch = {{"input_ids", tokens}, {"target_labels", tokens}}};
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Learner> learner;
};

// Tokens that differ from place to place.
HostTensor tokens(int64_t offset, int64_t vocab_size) {
  HostTensor out = HostTensor::zeros({kRows, kLength}, DType::kI32);
  int64_t i = offset;
  for (int32_t& id : out.values<int32_t>()) id = static_cast<int32_t>(i++ * 7 % vocab_size);
  return out;
}

void collect(Tree<HostTensor>& all, const std::string& prefix,
             const std::vector<ProgramValue>& names, const std::vector<HostTensor>& values) {
  for (size_t i = 0; i < names.size(); ++i) all.emplace(prefix + names[i].name, values[i]);
}

// Runs the prompt and one decode step with the trained parameters of `state`.
void decode(Tree<HostTensor>& all, Model& model, const Tree<HostTensor>& state) {
  const DecodeShape shape{.num_rows = kRows, .prompt_len = kLength, .cache_len = kLength + 2};
  std::vector<HostTensor> parameters;
  for (const ProgramValue& value : decode_parameters(model, shape)) {
    const auto at = state.find(value.name);
    parameters.push_back(at == state.end() ? state.at("model/" + value.name) : at->second);
  }
  const auto run = [&](const Program& program, const std::vector<HostTensor>& rest) {
    std::vector<HostTensor> arguments = parameters;
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return evaluate(*program.graph, arguments);
  };
  const Program prefill = prefill_program(model, shape, {});
  const HostTensor lengths({kRows}, {int32_t{kLength}, int32_t{kLength - 2}});
  const std::vector<HostTensor> prompted =
      run(prefill, {random::key_words(1), lengths, tokens(3, model.vocab_size())});
  collect(all, "prefill/", prefill.outputs, prompted);
  const Program next = decode_program(model, shape, {});
  collect(all, "decode/", next.outputs, run(next, prompted));
}

void count(const Region& region, std::map<std::string, int64_t>& counts) {
  for (const OpNode* op : region.ops()) {
    ++counts[std::string(op->rules->name())];
    for (const auto& inner : op->regions) count(*inner, counts);
  }
}

}  // namespace

Tree<HostTensor> numbers_of(const Experiment& experiment) {
  const Parts parts(experiment);
  const std::vector<ProgramValue> leaves = train_state(*parts.model, *parts.learner);
  const std::vector<HostTensor> start =
      evaluate(*init_program(parts.program_spec()).graph, {random::key_words(0)});
  const Program step = step_program(parts.program_spec());
  std::vector<HostTensor> arguments = start;
  const int64_t vocab_size = parts.model->vocab_size();
  for (const ProgramValue& input : std::span(step.inputs).subspan(leaves.size()))
    arguments.push_back(tokens(input.name == "target_labels" ? 1 : 0, vocab_size));
  Tree<HostTensor> all;
  collect(all, "step/", step.outputs, evaluate(*step.graph, arguments));
  Tree<HostTensor> trained;
  for (size_t i = 0; i < leaves.size(); ++i)
    trained.emplace(leaves[i].name, all.at("step/" + step.outputs[i].name));
  decode(all, *parts.model, trained);
  return all;
}

std::map<std::string, int64_t> op_counts(const Experiment& experiment) {
  const Parts parts(experiment);
  std::map<std::string, int64_t> counts;
  count(*eval_program(parts.program_spec()).graph, counts);
  return counts;
}
