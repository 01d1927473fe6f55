// Models that train one model beside another one, which never changes.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "layers/models/default_model.h"

namespace axle {

/// A model whose parameters are those of the trained model below it, and whose state holds the
/// parameters of the frozen one (Model::frozen_models). Whatever is no training is a call of the
/// trained model alone: decoding, the export of parameters, and evaluation unless
/// evaluates_frozen() says otherwise.
///
/// The frozen model may have some parameters for itself and read the others from the trained model,
/// which has them at the same paths and does not train them. They are in memory once.
///
/// Throws ConfigError at construction if the vocabularies differ, and for a parameter to read that
/// the trained model does not have.
class BesideFrozen : public Model {
 public:
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return trained_->vocab_size(); }
  std::optional<int64_t> max_seq_len() const override { return trained_->max_seq_len(); }
  std::vector<const Model*> frozen_models() const override { return {&*frozen_}; }
  Tree<ParamSpec> param_specs() const override { return trained_->param_specs(); }
  Tree<ParamSpec> state_specs() const override;
  std::vector<std::string> read_by_frozen() const override;
  void complete_start(Tree<HostTensor>& given) const override;
  Tree<Tensor> initialize(const random::Key& key) const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;
  /// The field that holds the trained model.
  const std::string& trained_part() const { return trained_part_; }

 protected:
  /// A field of the config, and the model in it.
  struct Part {
    std::string field;
    const Child<Model>& config;
  };
  /// `own` are patterns of the paths of parameters that the frozen model does not read from the
  /// trained one.
  BesideFrozen(const Part& trained, const Part& frozen, const Scope& scope,
               const std::vector<std::string>& own = {"**"});

  ModelOutput forward(const Tree<Tensor>& batch) final;
  /// The loss of a call that sees both models.
  virtual ModelOutput forward_beside(const Tree<Tensor>& batch) = 0;
  /// Calls fn() with the parameters and the state of the frozen model, as in a call without
  /// training.
  Tensor call_frozen(const std::function<Tensor()>& fn) const;
  /// True if the frozen model reads parameters of the trained one.
  bool shares() const { return !shared_.empty(); }

  Tensor hidden_forward(const Tree<Tensor>& batch) final { return trained_->hidden(batch); }
  Tensor head_forward(const Tensor& x_BTD) final { return trained_->logits_of(x_BTD); }
  Tensor logits_forward(const Tree<Tensor>& batch) final { return trained_->logits(batch); }
  Tensor next_logits_forward(const Tree<Tensor>& batch) final {
    return trained_->next_logits(batch);
  }

  std::string trained_part_;
  Handle<Model> trained_, frozen_;

 private:
  // The path in the trained model of what the frozen model has at `path`.
  std::string twin(const std::string& path) const;

  std::set<std::string, std::less<>> shared_;  // paths of the frozen model's parameters
};

}  // namespace axle
